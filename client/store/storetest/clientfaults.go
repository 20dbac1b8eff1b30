package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/sequencer"
)

// lossy: requests and answers are lost, repeated and late, while nodes change hands.
func lossy(f *fleet) {
	const holders = 4
	f.pool = holders - 1 // One always waits for a node.
	ctx, cancel := context.WithTimeout(f.ctx, 6*time.Second)
	defer cancel()
	faults := Faults{LoseRequest: 0.1, LoseAnswer: 0.2, Late: 0.1, Repeat: 0.2, Delay: 40 * time.Millisecond}
	var wg sync.WaitGroup
	var issued atomic.Int64
	clients := make([]*client, holders)
	for i := range clients {
		clients[i] = f.open()
	}
	for _, c := range clients {
		c.faulty.Set(faults)
		wg.Go(func() { issued.Add(int64(c.work(ctx, time.Second))) })
	}
	wg.Wait()
	var total Counts
	for _, c := range clients {
		n := c.faulty.Counts()
		total.LostAnswers += n.LostAnswers
		total.LostRequests += n.LostRequests
		total.Delivered += n.Delivered
		c.faulty.Set(Faults{})
		c.faulty.Deliver(f.ctx)
	}
	if total.LostAnswers == 0 || total.LostRequests == 0 || total.Delivered == 0 || issued.Load() == 0 {
		f.Errorf("%d IDs with these faults: %+v", issued.Load(), total)
	}
	f.Logf("%d IDs, %d lost answers, %d lost requests, %d late requests", issued.Load(), total.LostAnswers,
		total.LostRequests, total.Delivered)
	c := f.open()
	c.take(c.attach(), 100) // All is well without faults.
}

// lostTake: the answer to the write that takes a record is lost, and the client finds out.
func lostTake(f *fleet) {
	f.pool, f.window = 1, longWindow
	f.open().attach().DetachLogicalNode(f.ctx) //nolint:errcheck // the attach below finds the node free or not at all
	c := f.open()
	c.faulty.Set(Faults{LoseAnswer: 0.5})
	c.take(c.attach(), 100)
	if r := f.record(0); r.State != record.Held {
		f.Errorf("the record is %v", r.State)
	}
}

// paused: a client is stopped for three windows in the middle of its work, and another
// one takes its node. After it continues it issues nothing from the time of the other.
func paused(f *fleet) {
	f.pool = 1
	a := f.open()
	sa := a.attach()
	running, stop := context.WithCancel(f.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.run(running, sa)
	}()
	signal.Sleep(f.ctx, f.window)
	a.faulty.Freeze()
	stop() // The loop is stopped, and so is everything that it would call.
	<-done
	frozen := time.Now()

	b := f.open()
	sb := b.attach()
	b.take(sb, 1000)
	if sb.Definition() != sa.Definition() || f.node(sb) != 0 {
		f.Errorf("the second client has node %d", f.node(sb))
	}
	if rest := 3*f.window - time.Since(frozen); rest > 0 {
		signal.Sleep(f.ctx, rest)
	}
	b.take(sb, 1000)
	// A stopped machine's clock jumps at its next time synchronization.
	a.skew.Store(int64(-2 * f.window))
	a.faulty.Thaw()
	resumed, enough := context.WithTimeout(f.ctx, f.window)
	a.run(resumed, sa)
	enough()
	a.skew.Store(0)
	b.take(sb, 1000)
	if err := b.Leave(f.within(soon)); err != nil {
		f.Fatalf("leave: %v", err)
	}
	f.await("the resumed client has a node again", func() bool {
		err := a.next(sa)
		if err != nil {
			a.promised(err)
		}
		return err == nil
	})
}

// skewed: clocks an hour apart. Nodes change hands between them.
func skewed(f *fleet) {
	f.pool = 2
	hour := int64(time.Hour)
	ctx, cancel := context.WithTimeout(f.ctx, 5*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	var issued atomic.Int64
	for _, skew := range []int64{0, hour, -hour} {
		c := f.prepare()
		c.skew.Store(skew)
		c.faulty = NewFaulty(f.handle(c.number), uint64(c.number))
		f.start(c, c.faulty)
		wg.Go(func() { issued.Add(int64(c.work(ctx, f.window/2))) })
	}
	wg.Wait()
	if issued.Load() == 0 {
		f.Error("no ID was issued")
	}
}

// skewedDated: a store with a clock of its own rejects a client with a clock that is far off.
func skewedDated(f *fleet) {
	c := f.prepare()
	c.skew.Store(int64(time.Hour))
	f.refused(c, f.store, "with a clock that is an hour ahead of the store's")
}

// away: a client is cut off from the store. It continues to its grant's end, which precedes another
// client's grant, then fails as promised, and continues by itself.
func away(f *fleet) {
	f.pool = 1
	c, other := f.open(), f.open()
	s := c.attach()
	c.take(s, 100)
	c.faulty.Set(Faults{Down: true})
	c.take(s, 100) // It has a grant.
	cut, end := context.WithCancel(f.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.run(cut, s)
	}()
	so := other.attach()
	some, enough := context.WithTimeout(f.ctx, 2*f.window)
	other.run(some, so)
	enough()
	end()
	<-done
	_, err := s.Next(f.within(f.window))
	if !errors.Is(err, sequencer.ErrGrantExpired) && !errors.Is(err, sequencer.ErrUnavailable) ||
		!errors.Is(err, context.DeadlineExceeded) {
		f.Errorf("next without a store: %v", err)
	}
	if err := other.Leave(f.within(soon)); err != nil {
		f.Fatalf("leave: %v", err)
	}
	c.faulty.Set(Faults{})
	f.await("the client that was cut off has a node again", func() bool { return c.next(s) == nil })
	c.take(s, 100)
}

// takenMeanwhile: a client has read a free record; another one takes and returns it; the
// first one's write of its earlier read is refused, and it starts from the new state.
func takenMeanwhile(f *fleet) {
	f.pool, f.window = 1, longWindow
	first := f.open()
	first.take(first.attach(), 1000)
	if err := first.Leave(f.within(soon)); err != nil {
		f.Fatal(err)
	}
	before := f.record(0).Version
	c, other := f.open(), f.open()
	between := false
	c.faulty.BeforeSwap(f.recordKey(0), func() {
		between = true
		other.take(other.attach(), 1000)
		if err := other.Leave(f.within(soon)); err != nil {
			f.Errorf("leave: %v", err)
		}
	})
	c.take(c.attach(), 1000)
	if v := f.record(0).Version; !between || v != before+2 {
		f.Errorf("version %d after %d and two holders", v, before)
	}
}

// damaged: a record that is garbage is skipped and stays so, and its holder takes another.
func damaged(f *fleet) {
	f.pool, f.window = 3, safeWindow
	a := f.open()
	sa := a.attach()
	a.take(sa, 500)
	const garbage = `{"grant":"of last year"}`
	f.overwrite(0, garbage)
	f.overwrite(1, garbage)
	f.moves(a, sa, 2)
	for node := range sequencer.NodeID(2) {
		if e, err := f.store.Load(f.ctx, f.recordKey(node)); err != nil || string(e.Body) != garbage {
			f.Errorf("the damaged record of node %d was replaced by %q, %v", node, e.Body, err)
		}
	}
}

// moves waits until the holder of a lost record has the one of another node, which is the last good one.
func (f *fleet) moves(a *client, sa *sequencer.Sequencer, to sequencer.NodeID) {
	f.Helper()
	f.await("the holder of a lost record has another", func() bool {
		_ = a.next(sa) // it fails without a node
		node, attached := sa.LogicalNode()
		return attached && node == to
	})
	a.take(sa, 500)
	c := f.open()
	_, err := c.CreateSequencer(f.within(f.window/2), fleetName, sequencer.Config{})
	f.mustWait(c, err)
}

// repaired: an operator makes a damaged record usable again, with a floor below which
// nothing is issued, and cannot do so for a record with a holder.
func repaired(f *fleet) {
	f.pool = 1
	a := f.open()
	sa := a.attach()
	a.take(sa, 500)
	floor := func() time.Time { return time.Now().Add(f.window + time.Second).Truncate(time.Millisecond) }
	if err := a.Repair(f.within(soon), fleetName, 0, floor()); !errors.Is(err, sequencer.ErrConflict) {
		f.Errorf("repair of a record with a holder: %v", err)
	}
	_ = a.Close()
	f.overwrite(0, "{}")
	b := f.open()
	from := floor()
	if err := b.Repair(f.within(soon), fleetName, 0, from); err != nil {
		f.Fatalf("repair: %v", err)
	}
	sb := b.attach()
	b.take(sb, 500)
	f.mu.Lock()
	defer f.mu.Unlock()
	if first := sb.Definition().MinID(from); b.last < first {
		f.Errorf("ID %d was issued below the floor, which is ID %d", b.last, first)
	}
	for at, number := range f.ticks {
		if number == b.number && at.ms < from.UnixMilli() {
			f.Errorf("an ID at %d ms was issued below the floor, %d ms", at.ms, from.UnixMilli())
		}
	}
}

// missing: a record that an operator deleted is not made again.
func missing(f *fleet) {
	f.pool, f.window = 2, safeWindow
	a := f.open()
	sa := a.attach()
	a.take(sa, 500)
	if err := f.store.(Deleter).Delete(f.ctx, f.recordKey(0)); err != nil {
		f.Fatal(err)
	}
	f.moves(a, sa, 1)
	found, err := f.store.List(f.ctx, f.recordKey(0))
	if err != nil || slices.ContainsFunc(found, func(e store.Entry) bool { return e.Key == f.recordKey(0) }) {
		f.Errorf("a deleted record was made again: %v, %v", keysOf(found), err)
	}
}
