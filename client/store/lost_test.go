package store

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestExpiredRecordIsNotExtended is Z10, Z11 and Z25: when the store was away for longer
// than a window the node is lost, is reported and reported again, and the handle takes a
// node by itself when the store is back. Nothing is issued in between.
func TestExpiredRecordIsNotExtended(t *testing.T) {
	inBubble(t, func(b *bench) {
		s, away := switchable()
		b.store = s
		lost := make(chan Loss, 99)
		c := b.client(func(c *Config) { c.OnLost = func(l Loss) { lost <- l } })
		h := b.create(c)
		b.next(h)
		away.Store(true)
		began := time.Now()
		var last error
		for time.Since(began) < 9*time.Second {
			id, err := h.Next(b.within(time.Second))
			if err == nil {
				b.note(id)
				time.Sleep(20 * time.Millisecond)
				continue
			}
			last = err
		}
		b.wants(last, sequencer.ErrUnavailable)
		b.wants(last, context.DeadlineExceeded)
		if len(lost) < 3 {
			b.Errorf("%d reports", len(lost))
		}
		first := <-lost
		b.wants(first.Cause, ErrExpired)
		if first.Sequencer != "orders" || first.Node != 0 || first.Version != 1 {
			b.Errorf("got %+v", first)
		}
		if health := c.Health(); health.Valid {
			b.Errorf("health %+v", health)
		}
		away.Store(false)
		b.next(h)
		if r := b.record(0); node(b, h) != 0 || r.Version != 2 || r.Graceful {
			b.Errorf("node %d, %+v", node(b, h), r)
		}
		if health := c.Health(); !health.Valid || !health.Ready {
			b.Errorf("health %+v", health)
		}
	})
}

// TestErrorsNameTheStoresCause: while a disk is full, the error of Next and the client's state name the
// cause of the last renewal that failed, from the end of the grant until the store writes again.
func TestErrorsNameTheStoresCause(t *testing.T) {
	inBubble(t, func(b *bench) {
		const cause = "write /data/.temp/7: no space left on device"
		var full atomic.Bool
		b.store = &hooked{Memory: NewMemory(), before: func(_ context.Context, call, _ string) error {
			if call == "swap" && full.Load() {
				return &fs.PathError{Op: "write", Path: "/data/.temp/7", Err: syscall.ENOSPC}
			}
			return nil
		}}
		c := b.client()
		h := b.create(c)
		full.Store(true)
		creating, stop := context.WithCancel(b.Context())
		created := make(chan error, 1)
		go func() {
			_, err := c.CreateSequencer(creating, "users", sequencer.Config{})
			created <- err
		}()
		failed := 0
		for began := time.Now(); time.Since(began) < 9*time.Second; {
			id, err := h.Next(b.within(time.Second))
			if err == nil {
				b.note(id)
				time.Sleep(100 * time.Millisecond)
				continue
			}
			b.wants(err, context.DeadlineExceeded)
			b.wants(err, sequencer.ErrUnavailable)
			failed++
			health := c.Health()
			if !strings.Contains(err.Error(), cause) || !strings.Contains(health.Reason, cause) {
				b.Errorf("the error of Next is %q, the state %q", err, health.Reason)
			}
			if all := health.Sequencers; len(all) != 2 || all[1].Name != "users" || all[1].Valid ||
				!strings.Contains(all[1].Reason, cause) {
				b.Errorf("a create that fails: %+v", all)
			}
		}
		if failed < 3 {
			b.Errorf("%d calls failed", failed)
		}
		stop()
		if err := <-created; !strings.Contains(err.Error(), cause+"; check the disk") {
			b.Errorf("create: %v", err)
		}
		full.Store(false)
		b.next(h)
		if health := c.Health(); health.Reason != "" || !health.Ready || len(health.Sequencers) != 1 {
			b.Errorf("health %+v", health)
		}
	})
}

// TestStoreAwayForLessThanAWindowIsNotNoticed.
func TestStoreAwayForLessThanAWindowIsNotNoticed(t *testing.T) {
	inBubble(t, func(b *bench) {
		s, away := switchable()
		b.store = s
		h := b.create(b.client())
		for range 5 {
			away.Store(true)
			for range 17 {
				b.next(h)
				time.Sleep(100 * time.Millisecond)
			}
			away.Store(false)
			time.Sleep(3 * time.Second)
		}
		if r := b.record(0); r.Version != 1 || h.Stats().GrantWaits != 0 {
			b.Errorf("version %d, %d waits", r.Version, h.Stats().GrantWaits)
		}
	})
}

// TestTakenNodeIsReplaced is E8: the grant stays usable, and another node takes its
// place.
func TestTakenNodeIsReplaced(t *testing.T) {
	inBubble(t, func(b *bench) {
		lost := make(chan Loss, 9)
		h := b.create(b.client(func(c *Config) { c.OnLost = func(l Loss) { lost <- l } }))
		b.next(h)
		e, _ := b.store.Load(b.Context(), "orders/0.json")
		other, err := b.record(0).Take(attachment.ID{9}, "another", "n",
			record.Bounds{Now: 1, Window: 3000, Life: b.record(0).Life})
		if err != nil {
			b.Fatal(err)
		}
		other.Timestamp = b.record(0).Timestamp + 60_000
		e.Body, e.Meta = other.Encode(), other.Meta()
		if _, err := b.store.Swap(b.Context(), e); err != nil {
			b.Fatal(err)
		}
		for range 50 {
			b.next(h)
			time.Sleep(100 * time.Millisecond)
		}
		l := <-lost
		b.wants(l.Cause, sequencer.ErrDetached)
		if !strings.Contains(l.Cause.Error(), "another") || node(b, h) != 1 || h.Stats().GrantWaits != 0 || len(lost) != 0 {
			b.Errorf("%v, node %d, %d waits", l.Cause, node(b, h), h.Stats().GrantWaits)
		}
	})
}

// TestReplacementIsLost: a record taken in place of a lost one is lost as well, before its grant has
// begun, so that the handle does not have it yet. The handle takes a third.
func TestReplacementIsLost(t *testing.T) {
	inBubble(t, func(b *bench) {
		c := b.client()
		h := b.create(c)
		b.next(h)
		if err := c.Scale(b.Context(), "orders", 2); err != nil {
			b.Fatal(err)
		}
		repair := func(node sequencer.NodeID, from time.Duration) {
			b.Helper()
			if err := c.Repair(b.Context(), "orders", node, bubbleClock().Add(from)); err != nil {
				b.Fatal(err)
			}
		}
		b.remove("orders/1.json")
		repair(1, 2*time.Second)
		b.remove("orders/0.json")
		for b.record(1).State != record.Held {
			time.Sleep(10 * time.Millisecond)
		}
		if node(b, h) != 0 {
			b.Error("the handle has the other node before its grant begins")
		}
		b.remove("orders/1.json")
		repair(0, time.Second)
		for range 10 {
			if _, err := h.Next(b.within(10 * time.Second)); err != nil {
				b.Fatal(err)
			}
			time.Sleep(time.Second)
		}
	})
}

// TestABA is ZH2: a record that was free, taken and returned is not the free one.
func TestABA(t *testing.T) {
	inBubble(t, func(b *bench) {
		s := &hooked{Memory: NewMemory()}
		b.store = s
		first := b.create(b.client())
		b.next(first)
		if err := first.DetachLogicalNode(b.Context()); err != nil {
			b.Fatal(err)
		}
		var once atomic.Bool
		other := b.client()
		late := b.client()
		s.setBefore(func(_ context.Context, call, key string) error {
			if call == "swap" && key == "orders/0.json" && !once.Swap(true) {
				h := b.create(other) // takes and returns the node between late's read and write
				b.next(h)
				if err := other.Leave(b.Context()); err != nil {
					b.Error(err)
				}
			}
			return nil
		})
		h := b.create(late)
		b.next(h)
		if r := b.record(node(b, h)); !once.Load() || b.record(0).Version < 2 || r.Task != late.cfg.Task {
			b.Errorf("got %+v", r)
		}
	})
}

// TestAnswerLostByTheStoreIsSettled is ZH5: a write whose answer was lost is found by its
// nonce, and is not a loss.
func TestAnswerLostByTheStoreIsSettled(t *testing.T) {
	inBubble(t, func(b *bench) {
		var calls atomic.Int64
		s := &hooked{Memory: NewMemory(), after: func(_ context.Context, call, key string) error {
			if call == "swap" && key != probeKey && calls.Add(1)%2 == 0 {
				return errAway
			}
			return nil
		}}
		b.store = s
		h := b.create(b.client())
		for range 100 {
			b.next(h)
			time.Sleep(100 * time.Millisecond)
		}
		if r := b.record(0); r.Version != 1 || h.Stats().GrantWaits != 0 {
			b.Errorf("version %d, %d waits", r.Version, h.Stats().GrantWaits)
		}
	})
}

// TestClockSetBackIsReported is E12: over MaxClockBack OnLost is called; IDs ascend and wait.
func TestClockSetBackIsReported(t *testing.T) {
	inBubble(t, func(b *bench) {
		var off atomic.Int64
		lost := make(chan Loss, 9)
		h := b.create(b.client(func(c *Config) {
			c.Clock = func() time.Time { return bubbleClock().Add(time.Duration(off.Load())) }
			c.OnLost = func(l Loss) { lost <- l }
		}))
		last := b.next(h)
		off.Store(int64(-4 * time.Second))
		time.Sleep(3 * time.Second)
		if len(lost) != 0 {
			b.Errorf("4 s: %+v", <-lost)
		}
		if id := b.next(h); id <= last {
			b.Errorf("%d after %d", id, last)
		}
		off.Add(int64(-6 * time.Second))
		time.Sleep(3 * time.Second)
		select {
		case l := <-lost:
			b.wants(l.Cause, ErrClockBack)
			if !strings.Contains(l.Cause.Error(), "Config.MaxClockBack (--max-clock-back) of 5s") {
				b.Errorf("the cause does not name the flag: %v", l.Cause)
			}
		default:
			b.Error("not reported")
		}
		if id := b.next(h); id <= last {
			b.Errorf("%d after %d", id, last)
		}
	})
}

// TestIdleHandleReturnsItsNode: DetachWhenIdle, and Next takes a node again.
func TestIdleHandleReturnsItsNode(t *testing.T) {
	inBubble(t, func(b *bench) {
		c := b.client()
		h := b.create(c)
		h.DetachWhenIdle(2 * time.Second)
		b.next(h)
		time.Sleep(5 * time.Second)
		if h.State() != sequencer.Detached || b.record(0).State != record.Free {
			b.Errorf("%v, %v", h.State(), b.record(0).State)
		}
		if health := c.Health(); !health.Valid || !health.Ready {
			b.Errorf("health %+v", health)
		}
		b.next(h)
		if r := b.record(0); r.Version != 2 || !r.Graceful {
			b.Errorf("got %+v", r)
		}
	})
}

// TestResume: a process that was frozen for longer than a window has time left when Resume
// returns, and one that was not asks for nothing.
func TestResume(t *testing.T) {
	inBubble(t, func(b *bench) {
		s := &hooked{Memory: NewMemory()}
		b.store = s
		var off atomic.Int64 // a frozen process: the clock went on, and nothing of it ran
		c := b.client(func(c *Config) { c.Clock = func() time.Time { return bubbleClock().Add(time.Duration(off.Load())) } })
		h := b.create(c)
		b.next(h)
		before := s.swaps.Load()
		if err := c.Resume(b.Context()); err != nil || s.swaps.Load() != before {
			b.Errorf("%d writes, %v", s.swaps.Load()-before, err)
		}
		off.Store(int64(time.Minute))
		began := time.Now()
		if err := c.Resume(b.within(time.Second)); err != nil || time.Since(began) > time.Second {
			b.Error(err)
		}
		if _, err := h.Next(b.within(time.Millisecond)); err != nil || b.record(0).Version != 2 {
			b.Errorf("%v, version %d", err, b.record(0).Version)
		}
		off.Add(int64(2500 * time.Millisecond)) // less than a third of the window is left
		if err := c.Resume(b.within(time.Second)); err != nil || b.record(0).Version != 2 {
			b.Errorf("%v, version %d", err, b.record(0).Version)
		}
		s.setBefore(func(context.Context, string, string) error { return errAway })
		off.Add(int64(time.Minute))
		b.wants(c.Resume(b.within(time.Second)), sequencer.ErrUnavailable)
		_ = c.Close()
		b.wants(c.Resume(b.Context()), sequencer.ErrClosed)
	})
}

// TestWatchHearsAtOnce: with a store that tells of changes, a destroy and a retired node
// are known long before the next renewal, and a waiting handle gets a node that was
// returned.
func TestWatchHearsAtOnce(t *testing.T) {
	inBubble(t, func(b *bench) {
		w := newWatched()
		b.store = w
		long := func(c *Config) { c.Window, c.Pool, c.AcquireMaxDelay = time.Minute, 2, time.Minute }
		one, two, three := b.client(long), b.client(long), b.client(long)
		h := b.create(one)
		b.create(two)
		time.Sleep(time.Second)
		if err := two.Retire(b.Context(), "orders", 0); err != nil {
			b.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := two.Restore(b.Context(), "orders", 0); err != nil {
			b.Fatal(err)
		}
		time.Sleep(time.Second)
		if r := b.record(0); r.Version != 2 || r.Task != one.cfg.Task || node(b, h) != 0 {
			b.Errorf("got %+v", r)
		}
		began := time.Now()
		go func() {
			time.Sleep(10 * time.Second)
			_ = one.Leave(b.Context())
		}()
		h = b.create(three)
		if took := time.Since(began); took > 11*time.Second || node(b, h) != 0 {
			b.Errorf("node %d after %v", node(b, h), took)
		}
		if err := two.DestroySequencer(b.Context(), "orders"); err != nil {
			b.Fatal(err)
		}
		time.Sleep(time.Second)
		if h.State() != sequencer.Destroyed {
			b.Errorf("it is %v", h.State())
		}
	})
}

// TestAdviceIsForTheCause: an error has the advice for its cause: the network, or the disk. What the store refuses
// has none.
func TestAdviceIsForTheCause(t *testing.T) {
	for advice, cause := range map[string]error{
		"; check its address, and that it runs": &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED},
		"; check the disk, and that this process may write to it": &fs.PathError{Op: "write", Path: "/data/7",
			Err: syscall.ENOSPC},
		"": errors.New("permission denied for table ids"),
	} {
		inBubble(t, func(b *bench) {
			b.store = &hooked{Memory: NewMemory(), before: func(_ context.Context, call, key string) error {
				if call == "swap" && strings.HasPrefix(key, "orders/") {
					return cause
				}
				return nil
			}}
			_, err := b.client().CreateSequencer(b.within(3*time.Second), "orders", sequencer.Config{})
			if err == nil || !strings.HasSuffix(err.Error(), cause.Error()+advice) {
				b.Errorf("created: %v; want the advice %q", err, advice)
			}
			attached := failure.Errorf(sequencer.ErrUnavailable, "%w", cause)
			err = b.client().notAttached("orders", context.DeadlineExceeded, attached)
			if !strings.HasSuffix(err.Error(), cause.Error()+advice) {
				b.Errorf("attached: %v; want the advice %q", err, advice)
			}
		})
	}
}
