// Package host runs a member's part in each partition: an actor per partition drives a machine from
// package partition (actor.go). It sends updates to replicas (replicate.go), writes definitions to the
// disk (storing.go, diskwriter.go), collects them from disks after a loss (collecting.go), and passes
// holder and member calls to the machine (calls.go, renew.go).
package host

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/grid/internal/definitions"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/grid/internal/tenure"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
)

// Config has the dependencies of a host.
type Config struct {
	Self        roster.Incarnation
	Grid        func() roster.GridID // the member's, zero for none
	State       *state.State
	Life        *tenure.Life
	Log         *slog.Logger
	Audit       *audit.Log
	Raft        *raftlog.Server
	Caller      api.Caller
	Events      *api.Events
	Definitions *definitions.Store // nil without a data directory
	// ReportEarlier reports a grant from an earlier life of the grid to the leader.
	ReportEarlier func(until clustertime.Tick)
	// ReportHeld sends this member's partition reports to the leader.
	ReportHeld func(context.Context, wire.HeldRequest) error
	// Awaited is called when a caller waits for another owner to replace a member.
	Awaited func(in wire.DirectoryRequest, owner roster.Member)
	// Changed is called after each change of the reported state.
	Changed func()
	// Alone means that no other member ever joins: see attachClaim.
	Alone bool
	// Stretch returns how much longer than usual holders may wait with their next renewal,
	// from 0 to 1; nil is 0.
	Stretch func() float64
}

// deps are the parts of the member that all parts of a host use.
type deps struct {
	cfg    Config
	self   roster.Incarnation
	state  *state.State
	clock  *handles.Clock // of the state, sampled by the log alone
	life   *tenure.Life
	ctx    context.Context // ends with the life
	log    *slog.Logger
	raft   *raftlog.Server
	caller api.Caller
	counts *counts
}

// Host runs a member's actors. Its methods may be called from any goroutine.
type Host struct {
	*deps
	*reacher
	*limits
	*diskWatch
	*useBook

	events      *api.Events
	definitions *definitions.Store
	disk        *diskWriter // nil without a data directory
	stored      storedReports
	collects    collects
	parking     parking
	waiters     atomic.Int64 // requests for the directory that wait

	mu     sync.Mutex // guards the fields below; never held while waiting
	actors map[roster.PartitionID]*actor
}

// New returns a host without actors.
func New(cfg Config) *Host {
	d := &deps{
		cfg: cfg, self: cfg.Self, state: cfg.State, clock: cfg.State.Clock, life: cfg.Life, ctx: cfg.Life.Context(),
		log: cfg.Log, raft: cfg.Raft, caller: cfg.Caller, counts: &counts{},
	}
	h := &Host{
		deps: d, reacher: &reacher{deps: d}, limits: newLimits(d), diskWatch: &diskWatch{deps: d},
		useBook: &useBook{deps: d}, events: cfg.Events, definitions: cfg.Definitions,
	}
	if cfg.Definitions != nil {
		h.disk = newDiskWriter(cfg.Definitions, cfg.Grid, func() bool { return cfg.Raft.DiskFailure() != nil },
			func(err error) { cfg.Raft.FailDisk("writing the definitions", err) })
	}
	h.Reset()
	return h
}

// Run starts the goroutines of the host, which end with the life. With alone set there is
// no other member, and no disk is awaited.
func (h *Host) Run(alone bool) {
	h.life.Go(func() { h.attend(h.ctx) })
	if h.disk != nil {
		h.life.Go(func() { h.disk.run(h.ctx) })
	}
	if !alone {
		h.life.Go(func() { h.watchAwaited(h.ctx) })
	}
}

// Reset forgets the partitions of a grid that the member has left. Its actors have ended.
func (h *Host) Reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.actors = map[roster.PartitionID]*actor{}
	h.reports.Store(&reports{held: map[roster.Replica]roster.Version{},
		persisted: map[roster.PartitionID]roster.Version{}, added: signal.New()})
	h.reach.mu.Lock()
	defer h.reach.mu.Unlock()
	h.reach.record, h.reach.apart = leader.NewReach(), nil
}

// LeaderChanged has the reports to the leader sent again: it may be another one.
func (c *reacher) LeaderChanged() { c.reports.Load().added.Send() }

// Calls returns the calls that the host serves.
func (h *Host) Calls() []*api.Call {
	return []*api.Call{
		api.Typed(wire.PathCreate, h.Create),
		api.Typed(wire.PathOpen, h.Open),
		api.Starting(wire.PathAttach, h.startAttach),
		api.Typed(wire.PathRenew, h.Renew),
		api.Starting(wire.PathDetach, h.startDetach),
		api.Typed(wire.PathDestroy, h.Destroy),
		api.Typed(wire.PathDirectory, h.Directory),
		api.Typed(wire.PathGrants, grantCalls{h}.grant).Deleting(api.Typed(wire.PathGrants, grantCalls{h}.release)),
		api.Typed(wire.PathRelayCreate, h.RelayCreate).ForMembers(),
		api.Typed(wire.PathRelayGrant, grantCalls{h}.relayed).ForMembers(),
		api.Typed(wire.PathRelayRenewal, grantCalls{h}.relayed).ForMembers(),
		api.Typed(wire.PathCount, h.Count).ForMembers(),
		api.Starting(wire.PathReplicate, h.startReplicate).ForMembers(),
		api.Typed(wire.PathStored, h.Stored).ForMembers(),
		api.Typed(wire.PathCollect, h.Collect).ForMembers().WithLargeAnswer(),
	}
}

// Granted returns the first tick that was not granted in a partition that grants nothing
// any longer.
func (h *Host) Granted(ctx context.Context, id roster.PartitionID) (clustertime.Tick, error) {
	o, err := h.actorOf(id)
	if err != nil {
		return 0, err
	}
	return look(ctx, o, o.machine.High)
}

// Owned returns the results of f for the table of each owned partition, by ascending partition; f also
// receives the cluster time. It omits partitions that do not reply before ctx ends. whole are the
// partitions whose tables have every name.
func Owned[T any](ctx context.Context, h *Host,
	f func(id roster.PartitionID, table *partition.Table, now clustertime.Tick) T) (out []T, whole []roster.PartitionID) {
	for _, o := range h.running() {
		complete := false
		read, err := look(ctx, o, func(v partition.View) (read T, err error) {
			if err = o.machine.Serves(v); err == nil {
				complete = o.machine.HasEveryName(v)
				read = f(o.id, o.machine.Table(), v.Bounds().Now)
			}
			return read, err
		})
		if err != nil {
			continue
		}
		out = append(out, read)
		if complete {
			whole = append(whole, o.id)
		}
	}
	return out, whole
}

// TableOf returns this member's copy of a name's partition, and whether the member acts on it.
func (h *Host) TableOf(ctx context.Context, name string) (table partition.TableState, acts bool, err error) {
	o, err := h.actorOf(roster.PartitionOf(name, len(h.state.Roster().Partitions)))
	if err != nil {
		return table, false, err
	}
	table, err = look(ctx, o, func(partition.View) (partition.TableState, error) {
		acts = o.machine.Acts()
		return o.machine.Table().Snapshot(), nil
	})
	return table, acts, err
}

// Stall blocks a name's owner until release: for overload tests.
func (h *Host) Stall(name string) (release func(), err error) {
	o, err := h.ownerOf(name)
	if err != nil {
		return nil, err
	}
	stalled, end := make(chan struct{}), make(chan struct{})
	go o.tell(job{serve: func(partition.View) { close(stalled); <-end }})
	<-stalled
	return func() { close(end) }, nil
}
