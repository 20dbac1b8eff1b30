package storetest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/sequencer"
)

// starters: of 30 clients that start together on 10 slots, 10 have a node each and 20
// wait until their contexts end.
func starters(f *fleet) {
	const slots, waiting = 10, 20
	f.pool, f.window = slots, longWindow
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	clients := make([]*client, slots+waiting)
	for i := range clients {
		clients[i] = f.openPlain()
	}
	started := f.startAll(ctx, clients)
	var starts []start
	for range slots {
		starts = append(starts, f.next(started, "a client has a node"))
	}
	// Each other client has read the records once more than necessary.
	signal.Sleep(f.ctx, time.Second)
	cancel()
	for range waiting {
		starts = append(starts, f.next(started, "a client without a node ends"))
	}
	var nodes []sequencer.NodeID
	for _, p := range starts {
		if p.err == nil {
			nodes = append(nodes, f.node(p.s))
			p.c.take(p.s, 100)
			continue
		}
		f.mustWait(p.c, p.err)
	}
	slices.Sort(nodes)
	if want := []sequencer.NodeID{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}; !slices.Equal(nodes, want) {
		f.Errorf("nodes in use: %v", nodes)
	}
}

// start is the result of a client's create.
type start struct {
	c   *client
	s   *sequencer.Sequencer
	err error
}

// startAll has clients create the sequencer, all together.
func (f *fleet) startAll(ctx context.Context, clients []*client) <-chan start {
	started := make(chan start, len(clients))
	for _, c := range clients {
		go func() {
			s, err := c.CreateSequencer(ctx, fleetName, sequencer.Config{})
			started <- start{c, s, err}
		}()
	}
	return started
}

// next waits for the next client whose create has ended.
func (f *fleet) next(started <-chan start, what string) (p start) {
	f.Helper()
	select {
	case p = <-started:
	case <-time.After(soon):
		f.Fatalf("within %v not: %s", soon, what)
	}
	return p
}

// killed: clients that end without a word leave their nodes to exactly as many that wait,
// in the next version, while the others keep theirs.
func killed(f *fleet) {
	const slots = 4
	f.pool, f.window = slots, safeWindow
	var clients []*client
	var handles []*sequencer.Sequencer
	for range slots {
		c := f.openPlain()
		clients, handles = append(clients, c), append(handles, c.attach())
	}
	kept := map[sequencer.NodeID]uint64{}
	for i, s := range handles {
		clients[i].take(s, 500)
		kept[f.node(s)] = f.record(f.node(s)).Version
	}
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	got := f.startAll(ctx, []*client{f.openPlain(), f.openPlain(), f.openPlain()})
	dead := map[sequencer.NodeID]bool{f.node(handles[0]): true, f.node(handles[2]): true}
	_ = clients[0].Close()
	_ = clients[2].Close()
	for range 2 {
		p := f.next(got, "the node of a dead holder is in use")
		if p.err != nil {
			f.Fatalf("a client that waited: %v", p.err)
		}
		node := f.node(p.s)
		if !dead[node] {
			f.Errorf("a client took node %d, whose holder is alive", node)
		}
		delete(dead, node)
		p.c.take(p.s, 500)
		if r := f.record(node); r.Version != kept[node]+1 || r.Graceful {
			f.Errorf("node %d of a holder that died: version %d after %d, graceful %v", node, r.Version, kept[node], r.Graceful)
		}
	}
	// The third still waits, while the living renew.
	signal.Sleep(f.ctx, f.window+f.window/2)
	cancel()
	p := <-got
	f.mustWait(p.c, p.err)
	for _, i := range []int{1, 3} {
		clients[i].take(handles[i], 500)
	}
}

// returned: another client soon takes a returned node, in the next version, and its IDs are above
// the previous ones.
func returned(f *fleet) {
	f.pool, f.window = 1, longWindow
	for round := range uint64(4) {
		c := f.openPlain()
		s := c.attach()
		if round > 0 {
			if r := f.record(0); r.Version != round+1 || !r.Graceful {
				f.Errorf("after %d returns: version %d, graceful %v", round, r.Version, r.Graceful)
			}
		}
		c.take(s, 2000)
		if err := c.Leave(f.within(soon)); err != nil {
			f.Fatalf("leave: %v", err)
		}
		if _, err := s.Next(f.ctx); !errors.Is(err, sequencer.ErrClosed) {
			f.Errorf("next after leave: %v", err)
		}
	}
}

// recreated: a destroy ends every handle, and the IDs of the next life are above all earlier ones.
func recreated(f *fleet) {
	f.pool = 3
	a, b, c := f.open(), f.open(), f.open()
	for range 2 {
		sa, sb := a.attach(), b.attach()
		a.take(sa, 500)
		b.take(sb, 500)
		if err := c.DestroySequencer(f.within(soon), fleetName); err != nil {
			f.Fatalf("destroy: %v", err)
		}
		for i, s := range []*sequencer.Sequencer{sa, sb} {
			cl := []*client{a, b}[i]
			f.await("the handle is destroyed", func() bool {
				id, err := s.Next(f.ctx)
				if err == nil {
					cl.note(s, id)
				}
				return errors.Is(err, sequencer.ErrDestroyed)
			})
		}
		if _, err := c.OpenSequencer(f.within(soon), fleetName); !errors.Is(err, sequencer.ErrNotFound) {
			f.Errorf("open after destroy: %v", err)
		}
	}
	a.take(a.attach(), 500)
}

// scaled: to scale down takes the highest nodes from their holders, and to scale up gives
// them back, in the next version.
func scaled(f *fleet) {
	const slots = 3
	f.pool = slots
	clients := make([]*client, slots)
	handles := make([]*sequencer.Sequencer, slots)
	for i := range clients {
		clients[i] = f.open()
		handles[i] = clients[i].attach()
		clients[i].take(handles[i], 500)
	}
	kept := map[sequencer.NodeID]record.Record{1: f.record(1), 2: f.record(2)}
	if err := clients[0].Scale(f.within(soon), fleetName, 1); err != nil {
		f.Fatalf("scale down: %v", err)
	}
	for i := range clients[1:] {
		c, s := clients[i+1], handles[i+1]
		f.await("the holder of a retired node has none", func() bool {
			err := c.next(s)
			if err != nil {
				c.promised(err)
			}
			return err != nil
		})
	}
	clients[0].take(handles[0], 500)
	for node, before := range kept {
		if r := f.record(node); r.State != record.Retired || r.Version < before.Version || r.Bound < before.Bound {
			f.Errorf("node %d after a scale down: %v, version %d after %d, bound %d after %d", node, r.State, r.Version,
				before.Version, r.Bound, before.Bound)
		}
	}
	if err := clients[0].Scale(f.within(soon), fleetName, slots+1); err != nil {
		f.Fatalf("scale up: %v", err)
	}
	for i := range clients {
		clients[i].take(handles[i], 500)
	}
	for node, before := range kept {
		if r := f.record(node); r.State == record.Held && r.Version <= before.Version {
			f.Errorf("node %d after a scale up: version %d after %d", node, r.Version, before.Version)
		}
	}
	c := f.open()
	c.take(c.attach(), 500)
}

// retired: a node that was retired is free and given to no client until it is restored.
func retired(f *fleet) {
	f.pool, f.window = 2, safeWindow
	a, b := f.open(), f.open()
	a.take(a.attach(), 500)
	if err := a.Retire(f.within(soon), fleetName, 1); err != nil {
		f.Fatalf("retire: %v", err)
	}
	_, err := b.CreateSequencer(f.within(f.window/2), fleetName, sequencer.Config{})
	f.mustWait(b, err)
	if err := a.Restore(f.within(soon), fleetName, 1); err != nil {
		f.Fatalf("restore: %v", err)
	}
	b.take(b.attach(), 500)
}

// conflicting: a name has one definition.
func conflicting(f *fleet) {
	f.pool = 2
	f.open().attach()
	if _, err := f.open().CreateSequencer(f.within(soon), fleetName, sequencer.Config{Nodes: 128}); !errors.Is(err,
		sequencer.ErrConflict) {
		f.Errorf("create with another node count: %v", err)
	}
}

// unconditional: a store that ignores conditions is refused at the start.
func unconditional(f *fleet) {
	s := NewFaulty(f.store, 1)
	s.Set(Faults{IgnoreConditions: true})
	f.refused(f.prepare(), s, "over a store that ignores conditions")
	if s.Counts().Ignored == 0 {
		f.Error("no condition was ignored")
	}
}
