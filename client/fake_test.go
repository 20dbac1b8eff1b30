package client

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// fake is a grid in memory, reached by function calls: members that own
// partitions of one table. All its times are the bubble's, 27 years later.
type fake struct {
	mu sync.Mutex
	// before and after run around every call and outside of the lock: an error
	// of before is that the call did not arrive, one of after that its answer
	// was lost.
	before, after hook
	stamp         wire.Stamp // grid and version
	window        clustertime.Span
	members       []string // API addresses
	owners        []int    // by partition
	down          map[string]bool
	table         *partition.Table
	sessions      map[roster.PartitionID]*partition.Sessions
	given         map[attachment.ID]bool // released: messages in transit come too late
	calls         []made
	streams       map[string]*fakeStream // by address and holder
	skew          time.Duration          // added to cluster time
	pace          time.Duration          // for renewals; 0 is as usual
	older         bool                   // of a release that attaches by no create, and answers without waiting
	moved         chan struct{}          // closed by the next move; nil if nothing waits
}

type hook func(ctx context.Context, addr, path string, in any) error

// hook has every call run h before it arrives, or nothing.
func (f *fake) hook(h hook) { f.set(func() { f.before = h }) }

// hookAnswers has every call run h before its answer, or nothing.
func (f *fake) hookAnswers(h hook) { f.set(func() { f.after = h }) }

// run runs one of the two hooks.
func (f *fake) run(ctx context.Context, h *hook, addr, path string, in any) error {
	f.mu.Lock()
	do := *h
	f.mu.Unlock()
	if do == nil {
		return nil
	}
	return do(ctx, addr, path, in)
}

// made is one call that arrived.
type made struct {
	addr, path string
	in         any
	at         time.Time
}

const fakeEpoch = 27 * 365 * 24 * time.Hour

var errCut = fmt.Errorf("%w: the network is cut", sequencer.ErrUnavailable)

// newFake returns a grid of three members, a:1, b:1 and c:1, that own six
// partitions.
func newFake() *fake {
	return &fake{
		stamp: wire.Stamp{Grid: roster.GridID{1}, Version: 5}, window: 15000,
		members: []string{"a:1", "b:1", "c:1"}, owners: []int{0, 1, 2, 0, 1, 2},
		down: map[string]bool{}, table: partition.NewTable(),
		sessions: map[roster.PartitionID]*partition.Sessions{}, given: map[attachment.ID]bool{},
		streams: map[string]*fakeStream{},
	}
}

// dial returns a client of the grid.
func (f *fake) dial(t *testing.T) *Client {
	t.Helper()
	c, err := Dial(t.Context(), Config{Addrs: []string{"a:1"}, parts: calls.Parts{Transport: f}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (f *fake) now() clustertime.Tick {
	return clustertime.TickOf(time.Now().Add(fakeEpoch + f.skew))
}

func (f *fake) bounds() partition.Bounds {
	return partition.Bounds{Now: f.now(), Ceiling: f.now().Add(f.window)}
}

// move gives every partition to one member, in a new roster version.
func (f *fake) move(to int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stamp.Version++
	f.owners = slices.Repeat([]int{to}, len(f.owners))
	clear(f.sessions)
	if f.moved != nil {
		close(f.moved)
		f.moved = nil
	}
}

// awaitMove waits, as a directory request asks to, until a partition is at another address;
// a member that is down does not wait.
func (f *fake) awaitMove(ctx context.Context, addr string, in wire.DirectoryRequest) {
	timer := time.NewTimer(in.Wait.Duration())
	defer timer.Stop()
	for {
		f.mu.Lock()
		if f.older || f.down[addr] || in.Wait == 0 || f.members[f.owners[in.Partition]] != in.NotAt {
			f.mu.Unlock()
			return
		}
		if f.moved == nil {
			f.moved = make(chan struct{})
		}
		moved := f.moved
		f.mu.Unlock()
		select {
		case <-moved:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// owner returns the address of a name's owner.
func (f *fake) owner(name string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.members[f.owners[roster.PartitionOf(name, len(f.owners))]]
}

// set changes the grid.
func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// made returns the calls of one path so far.
func (f *fake) made(path string) (out []made) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.calls {
		if m.path == path {
			out = append(out, m)
		}
	}
	return out
}

// count returns how many calls arrived so far.
func (f *fake) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.calls)
}

// attached returns how many logical nodes are attached.
func (f *fake) attached() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.table.Tenants())
}

// Call implements Transport.
func (f *fake) Call(ctx context.Context, addr, path string, in, out any) error {
	if err := f.run(ctx, &f.before, addr, path, in); err != nil {
		return err
	}
	if in, ok := in.(wire.DirectoryRequest); ok {
		f.awaitMove(ctx, addr, in)
	}
	result, err := f.serve(addr, path, in)
	err = errors.Join(err, f.run(ctx, &f.after, addr, path, in))
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return wire.ErrorOf(err, 0).Unwire()
	}
	reflect.ValueOf(out).Elem().Set(reflect.ValueOf(result))
	return nil
}

func (f *fake) serve(addr, path string, in any) (any, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, made{addr: addr, path: path, in: in, at: time.Now()})
	if f.down[addr] {
		return nil, errCut
	}
	stamp := f.stamp
	stamp.Time = f.now()
	switch in := in.(type) {
	case wire.DirectoryRequest:
		if in.Known != nil && *in.Known == (wire.DirectoryVersion{Grid: stamp.Grid, Version: stamp.Version}) && !f.older {
			return wire.DirectoryResponse{Stamp: stamp, Window: f.window, Same: true}, nil
		}
		d := wire.DirectoryResponse{Stamp: stamp, Window: f.window, Owners: slices.Clone(f.owners)}
		for _, m := range f.members {
			d.Members = append(d.Members, wire.Address{API: m})
		}
		return d, nil
	case wire.CreateRequest:
		ref, err := wire.Sequencer{Name: in.Name, Epoch: in.Config().Epoch.UnixMilli(), Nodes: in.Nodes}.Ref()
		if err = errors.Join(err, f.owns(addr, in.Name)); err != nil {
			return nil, err
		}
		copy(ref.Life[:], strconv.Itoa(len(f.calls))+"................")
		ref, _, err = f.table.Create(ref, f.now())
		out := wire.SequencerResponse{Stamp: stamp, Sequencer: wire.SequencerOf(ref)}
		if err == nil && in.Attach != nil && !f.older {
			req := in.Attach.Request(out)
			a, err := f.attach(addr, req.Holder, req.Claim, false)
			out.Attached = &wire.Attached{Node: a.Node, Grant: a.Grant}
			if err != nil {
				out.Attached.Error = wire.ErrorOf(err, stamp.Version)
			}
		}
		return out, err
	case wire.OpenRequest:
		if err := f.owns(addr, in.Name); err != nil {
			return nil, err
		}
		ref, err := f.table.Open(in.Name)
		return wire.SequencerResponse{Stamp: stamp, Sequencer: wire.SequencerOf(ref)}, err
	case wire.AttachRequest:
		a, err := f.attach(addr, in.Holder, in.Claim, false)
		return wire.AttachResponse{Stamp: stamp, Node: a.Node, Grant: a.Grant}, err
	case wire.RenewRequest:
		out := wire.RenewResponse{Stamp: stamp, Sets: make([]clustertime.Tick, len(in.Sets)), Pace: f.pace.Milliseconds()}
		for i, set := range in.Sets {
			if f.session(set.Partition).Confirm(in.Holder, partition.ClaimSet{Count: set.Count, Print: set.Print}, 0, 0) {
				out.Sets[i] = f.bounds().Ceiling
			}
		}
		for _, claim := range in.Claims {
			var r wire.RenewResult
			a, err := f.attach(addr, in.Holder, claim, true)
			if r.Grant = a.Grant; err != nil {
				r.Error = wire.ErrorOf(err, stamp.Version)
			}
			out.Results = append(out.Results, r)
		}
		return out, nil
	case wire.DetachRequest:
		ref, err := in.Sequencer.Ref()
		if err = errors.Join(err, f.owns(addr, in.Sequencer.Name)); err == nil {
			f.given[in.ID] = true
			f.table.Detach(ref, attachment.Release{ID: in.ID, Node: in.Node, LastUsed: in.LastUsed})
			f.session(f.of(in.Sequencer.Name)).Drop(in.Sequencer.Name, in.ID)
			f.show(in.Holder, ref, attachment.Attachment{})
		}
		return wire.Done{Stamp: stamp}, err
	case wire.DestroyRequest:
		return wire.Done{Stamp: stamp}, errors.Join(f.owns(addr, in.Name), f.destroy(in.Name, in.Life))
	}
	return nil, fmt.Errorf("%w: %s", sequencer.ErrInvalidConfig, path)
}

func (f *fake) owns(addr, name string) error {
	if f.members[f.owners[roster.PartitionOf(name, len(f.owners))]] != addr {
		return roster.ErrWrongOwner
	}
	return nil
}

func (f *fake) attach(addr string, h attachment.HolderID, in wire.Claim, renew bool) (attachment.Attachment, error) {
	ref, err := in.Sequencer.Ref()
	if err = errors.Join(err, f.owns(addr, in.Sequencer.Name)); err != nil {
		return attachment.Attachment{}, err
	}
	if f.given[in.ID] {
		return attachment.Attachment{}, sequencer.ErrDetached
	}
	claim := partition.Claim{Ref: ref, ID: in.ID, Preference: attachment.Preference{Any: in.Node == nil}}
	if in.Node != nil {
		claim.Node = *in.Node
	}
	var a attachment.Attachment
	switch {
	case in.ID.IsZero():
		_, err = f.table.Known(claim)
	case renew:
		a, _, err = f.table.Renew(claim, f.bounds())
	default:
		a, _, err = f.table.Attach(claim, f.bounds())
	}
	if err == nil {
		f.show(h, ref, a)
	}
	return a, err
}

// session returns the sessions of a partition.
func (f *fake) session(id roster.PartitionID) *partition.Sessions {
	if f.sessions[id] == nil {
		f.sessions[id] = partition.NewSessions(time.Hour, 0)
	}
	return f.sessions[id]
}

// of returns a name's partition.
func (f *fake) of(name string) roster.PartitionID { return roster.PartitionOf(name, len(f.owners)) }

// show records an attachment that a holder shows.
func (f *fake) show(h attachment.HolderID, ref attachment.Ref, a attachment.Attachment) {
	f.session(f.of(ref.Definition.Name())).Show(partition.Tenant{
		ID: a.ID, Holder: h, Name: ref.Definition.Name(), Node: a.Node, Print: attachment.FingerprintOf(ref.Life, a),
	}, 0)
}

// destroy ends a life and notifies all holders.
func (f *fake) destroy(name string, life attachment.Life) error {
	ref, err := f.table.Open(name)
	if err != nil {
		return err
	}
	if !life.IsZero() {
		ref.Life = life
	}
	if err := f.table.Destroy(ref); err != nil {
		return err
	}
	f.session(f.of(name)).DropName(name)
	for _, s := range f.streams {
		s.queue <- wire.Event{Name: name, Life: ref.Life}
	}
	return nil
}

// cutStreams ends every event stream.
func (f *fake) cutStreams() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, s := range f.streams {
		s.end()
		delete(f.streams, key)
	}
}

type fakeStream struct {
	queue chan wire.Event
	ctx   context.Context
	end   context.CancelFunc
}

// Events implements Transport.
func (f *fake) Events(ctx context.Context, addr string, in wire.EventsRequest, event func(wire.Event),
	end func()) error {
	if err := f.run(ctx, &f.before, addr, wire.PathEvents, in); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, made{addr: addr, path: wire.PathEvents, in: in})
	if f.down[addr] {
		return errCut
	}
	ctx, stop := context.WithCancel(ctx)
	s := &fakeStream{queue: make(chan wire.Event, 10000), ctx: ctx, end: stop}
	s.queue <- wire.Event{}
	f.streams[addr+string(in.Holder)] = s
	go func() {
		defer end()
		for {
			select {
			case e := <-s.queue:
				event(e)
			case <-ctx.Done():
				return
			}
		}
	}()
	return nil
}
