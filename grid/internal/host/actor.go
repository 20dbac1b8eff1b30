package host

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/tenure"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
)

// actor runs this member's part in one partition: its machine performs one job after another, each
// with the member's newest roster. The goroutine that brings a job performs it, unless another
// goroutine has the machine, which then performs it next (see inbox.go). The actor's own goroutine
// handles roster changes and time. An actor serves one grid: it ends when the member leaves that grid.
// It implements partition.Member.
type actor struct {
	host   *Host
	tenure *tenure.Tenure
	id     roster.PartitionID

	inbox chan job
	nudge chan struct{} // the roster has changed, or the machine needs ticks
	ticks atomic.Bool   // the machine needs ticks

	mu      sync.Mutex // held by the goroutine that has the machine; guards the fields below
	machine *partition.Machine
	partial partial
	over    bool // the tenure has ended

	census atomic.Pointer[partition.Census] // of the table while this is the owner
}

// inboxSize bounds the requests that wait for one partition.
const inboxSize = 256

func newActor(h *Host, id roster.PartitionID) *actor {
	o := &actor{
		host: h, tenure: h.life.Tenure(), id: id,
		inbox: make(chan job, inboxSize),
		nudge: make(chan struct{}, 1),
	}
	o.machine = partition.New(id, h.self, h.clock.Mono(), o)
	h.names.tables.Store(id, &o.census)
	return o
}

func (d *deps) view() partition.View {
	return partition.View{Roster: d.state.Roster(), Time: d.clock.Now(), Mono: d.clock.Mono(), Ended: d.state.Ended.Load()}
}

func stampOf(v partition.View) wire.Stamp {
	return wire.Stamp{Grid: v.Roster.Identity(), Version: v.Roster.Version, Time: v.Bounds().Now}
}

func (o *actor) run(ctx context.Context) {
	defer o.end()
	ticker := time.NewTicker(partition.TickEvery)
	defer ticker.Stop()
	observe := func(v partition.View) { o.machine.Observe(v) }
	for turn := observe; ; {
		o.take(turn)
		var tick <-chan time.Time
		if o.ticks.Load() {
			tick = ticker.C
		}
		select {
		case <-ctx.Done():
			return
		case <-o.nudge:
			turn = observe
		case <-tick:
			turn = func(v partition.View) { o.machine.Tick(v) }
		}
	}
}

func (o *actor) end() {
	o.mu.Lock()
	o.over = true
	o.machine.Fail(roster.ErrWrongOwner)
	o.census.Store(nil)
	o.mu.Unlock()
	o.pump()
}

func (o *actor) TellEnded(holders []attachment.HolderID, ref attachment.Ref) {
	o.host.events.Publish(holders, wire.Event{Name: ref.Definition.Name(), Life: ref.Life})
}

func (o *actor) ReportEarlier(until clustertime.Tick) { o.host.cfg.ReportEarlier(until) }

func (o *actor) BecameOwner(id roster.PartitionID, term roster.Term) {
	o.host.log.Debug("became owner", "partition", id, "term", term)
}

func (o *actor) Expired(id roster.PartitionID, t partition.Tenant) {
	o.host.log.Info("session ended; its logical node is free again",
		"partition", id, "sequencer", t.Name, "node", t.Node, "holder", t.Holder.Short())
}
