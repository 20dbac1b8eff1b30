package store

import (
	"slices"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestFirstClientInitialises is Z1, Z2 and Z4: the definition, a record for each slot, and
// the marker; node 0 in version 1, with a timestamp of one window ahead.
func TestFirstClientInitialises(t *testing.T) {
	inBubble(t, func(b *bench) {
		c := b.client()
		began := bubbleClock()
		s := b.create(c)
		want := []string{"orders/0.json", "orders/1.json", "orders/2.json", "orders/3.json", "orders/node-ids-initialized",
			"orders/sequencer.json", "probe.json"}
		if got := b.keys(); !slices.Equal(got, want) {
			b.Errorf("keys %q", got)
		}
		r := b.record(0)
		if node(b, s) != 0 || r.Version != 1 || r.State != record.Held || r.Task != c.cfg.Task ||
			r.Timestamp.Time() != began.Add(3*time.Second).Truncate(time.Millisecond).UTC() {
			b.Errorf("got %+v at %v", r, began)
		}
		for range 5000 {
			b.next(s)
		}
	})
}

// TestInitialisedStoreKeepsItsSlots is Z2.
func TestInitialisedStoreKeepsItsSlots(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.create(b.client())
		before := b.keys()
		other := b.create(b.client(func(c *Config) { c.Pool = 100 }))
		if got := b.keys(); !slices.Equal(got, before) || node(b, other) != 1 {
			b.Errorf("keys %q, node %d", got, node(b, other))
		}
	})
}

// TestRenewalKeepsVersionAndTask is Z9.
func TestRenewalKeepsVersionAndTask(t *testing.T) {
	inBubble(t, func(b *bench) {
		c := b.client(func(c *Config) {
			c.Task = "web-1"
			c.Known = func() map[int]uint64 { return map[int]uint64{2: 7, -1: 3} }
		})
		s := b.create(c)
		first := b.record(0)
		time.Sleep(1001 * time.Millisecond) // a third of the window
		r := b.record(0)
		if r.Version != 1 || r.Task != "web-1" || r.Timestamp <= first.Timestamp || r.Nonce == first.Nonce ||
			len(r.Known) != 1 || r.Known[2] != 7 {
			b.Errorf("got %+v", r)
		}
		for range 60 { // through many renewals
			b.next(s)
			time.Sleep(487 * time.Millisecond)
		}
		if r := b.record(0); r.Version != 1 {
			b.Errorf("version %d", r.Version)
		}
	})
}

// TestLeaveReturnsAtOnce is Z8: the next holder has the node immediately, in the next
// version, and knows that its predecessor left gracefully.
func TestLeaveReturnsAtOnce(t *testing.T) {
	inBubble(t, func(b *bench) {
		c := b.client()
		s := b.create(c)
		last := b.next(s)
		if err := c.Leave(b.Context()); err != nil {
			b.Fatal(err)
		}
		if r := b.record(0); r.State != record.Free || !r.Graceful || r.Bound != r.LastUsed+1 {
			b.Errorf("returned %+v", r)
		}
		_, err := s.Next(b.Context())
		b.wants(err, sequencer.ErrClosed)
		next := b.create(b.client())
		if r := b.record(0); node(b, next) != 0 || r.Version != 2 || !r.Graceful {
			b.Errorf("node %d, %+v", node(b, next), r)
		}
		if id := b.next(next); id <= last {
			b.Errorf("%d after %d", id, last)
		}
	})
}

// TestCrashedHoldersNodeIsTakenAfterItsWindow is Z7.
func TestCrashedHoldersNodeIsTakenAfterItsWindow(t *testing.T) {
	inBubble(t, func(b *bench) {
		one := func(c *Config) { c.Pool = 1 }
		c := b.client(one)
		s := b.create(c)
		b.next(s)
		_ = c.Close()
		began := time.Now()
		next := b.create(b.client(one))
		if took := time.Since(began); took < 3*time.Second || took > 6*time.Second {
			b.Errorf("taken after %v", took)
		}
		if r := b.record(0); r.Version != 2 || r.Graceful {
			b.Errorf("got %+v", r)
		}
		b.next(next)
	})
}

// TestAllHeldWaitsAndFails is Z6 and E4: nothing changes, and the error says why.
func TestAllHeldWaitsAndFails(t *testing.T) {
	inBubble(t, func(b *bench) {
		one := func(c *Config) { c.Pool = 1 }
		b.create(b.client(one))
		before := b.record(0)
		h, err := b.client(one).CreateSequencer(b.within(20*time.Second), "orders", sequencer.Config{})
		b.wants(err, sequencer.ErrNoFreeNode)
		if h == nil || h.State() != sequencer.Detached {
			b.Errorf("handle %v", h)
		}
		if r := b.record(0); r.Version != before.Version || r.Attachment != before.Attachment {
			b.Errorf("got %+v", r)
		}
	})
}

// TestEveryStarterHasANodeOfItsOwn is Z5 and E2.
func TestEveryStarterHasANodeOfItsOwn(t *testing.T) {
	inBubble(t, func(b *bench) {
		const n = 8
		made := make(chan *sequencer.Sequencer, n)
		for range n {
			go func() { made <- b.create(b.client(func(c *Config) { c.Pool = n })) }()
		}
		nodes := map[sequencer.NodeID]bool{}
		for range n {
			s := <-made
			nodes[node(b, s)] = true
			b.next(s)
		}
		if len(nodes) != n {
			b.Errorf("nodes %v", nodes)
		}
	})
}

// TestDestroyAndCreateAgain is H7: a later life, another definition, no common ID.
func TestDestroyAndCreateAgain(t *testing.T) {
	inBubble(t, func(b *bench) {
		c, d := b.client(), b.client()
		s, other := b.create(c), b.create(d)
		b.next(s)
		b.next(other)
		if err := c.DestroySequencer(b.Context(), "orders"); err != nil {
			b.Fatal(err)
		}
		if s.State() != sequencer.Destroyed {
			b.Errorf("own handle %v", s.State())
		}
		_, err := c.OpenSequencer(b.Context(), "orders")
		b.wants(err, sequencer.ErrNotFound)
		b.wants(c.DestroySequencer(b.Context(), "orders"), sequencer.ErrNotFound)
		time.Sleep(1100 * time.Millisecond)
		if other.State() != sequencer.Destroyed {
			b.Errorf("another client's handle %v", other.State())
		}
		again, err := c.CreateSequencer(b.Context(), "orders", sequencer.Config{Nodes: 128})
		if err != nil {
			b.Fatal(err)
		}
		st, err := c.Status(b.Context(), "orders")
		if from := b.record(node(b, again)).From.Time(); err != nil || st.Mark.IsZero() || from.Before(st.Mark) {
			b.Errorf("granted from %v, and the mark is %v, %v", from, st.Mark, err)
		}
		if _, err := again.Next(b.within(10 * time.Second)); err != nil {
			b.Error(err)
		}
		_, err = d.CreateSequencer(b.Context(), "orders", sequencer.Config{})
		b.wants(err, sequencer.ErrConflict)
	})
}

// TestCloseWritesNothing is Z24.
func TestCloseWritesNothing(t *testing.T) {
	inBubble(t, func(b *bench) {
		lost := make(chan Loss, 9)
		c := b.client(func(c *Config) { c.OnLost = func(l Loss) { lost <- l } })
		b.create(c)
		before := b.record(0)
		_ = c.Close()
		_ = c.Close()
		time.Sleep(10 * time.Second)
		if r := b.record(0); r.Nonce != before.Nonce || len(lost) != 0 {
			b.Errorf("got %+v, %d losses", r, len(lost))
		}
		b.wants(c.Leave(b.Context()), sequencer.ErrClosed)
		_, err := c.CreateSequencer(b.Context(), "orders", sequencer.Config{})
		b.wants(err, sequencer.ErrClosed)
	})
}
