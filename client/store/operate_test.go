package store

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/sequencer"
)

// overwrite replaces a key's body, as no client does.
func (b *bench) overwrite(key, body string) {
	b.Helper()
	e, err := b.store.Load(b.Context(), key)
	if err != nil {
		b.Fatal(err)
	}
	e.Body = []byte(body)
	if _, err := b.store.Swap(b.Context(), e); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) remove(key string) {
	b.Helper()
	if err := b.store.(*Memory).Delete(b.Context(), key); err != nil {
		b.Fatal(err)
	}
}

// TestScaleDownAndUp is Z22 and Z23: the highest nodes go, their holders lose them, and
// come back with their versions and bounds.
func TestScaleDownAndUp(t *testing.T) {
	inBubble(t, func(b *bench) {
		lost := make(chan Loss, 9)
		one, two := b.client(), b.client(func(c *Config) { c.OnLost = func(l Loss) { lost <- l } })
		b.create(one)
		h := b.create(two)
		b.next(h)
		if err := one.Scale(b.Context(), "orders", 1); err != nil {
			b.Fatal(err)
		}
		bound := b.record(1).Bound
		time.Sleep(1100 * time.Millisecond)
		l := <-lost
		b.wants(l.Cause, sequencer.ErrDetached)
		if r := b.record(1); r.State != record.Retired || r.Version != 1 || r.Bound != bound {
			b.Errorf("got %+v", r)
		}
		_, err := b.client().CreateSequencer(b.within(10*time.Second), "orders", sequencer.Config{})
		b.wants(err, sequencer.ErrNoFreeNode)
		if err := one.Scale(b.Context(), "orders", 6); err != nil {
			b.Fatal(err)
		}
		b.next(h) // by itself
		if r := b.record(1); node(b, h) != 1 || r.Version != 2 || r.From < bound {
			b.Errorf("node %d, %+v", node(b, h), r)
		}
		s, err := one.Status(b.Context(), "orders")
		if err != nil || s.Slots != 6 || len(s.Records) != 6 || s.Records[5].State != "free" ||
			s.Records[0].Task != one.cfg.Task {
			b.Errorf("status %+v, %v", s, err)
		}
		for _, slots := range []int{0, -1, 8193} {
			b.wants(one.Scale(b.Context(), "orders", slots), sequencer.ErrInvalidConfig)
		}
		b.wants(one.Scale(b.Context(), "others", 3), sequencer.ErrNotFound)
	})
}

// TestScaleIsNotUndoneByADestroy is H10: a scale that was stopped half way adds no record
// that a destroy does not close, and the next life's scale completes it.
func TestScaleIsNotUndoneByADestroy(t *testing.T) {
	inBubble(t, func(b *bench) {
		s := &hooked{Memory: NewMemory()}
		b.store = s
		slow, other := b.client(), b.client()
		b.create(slow)
		var once atomic.Bool
		s.setBefore(func(_ context.Context, call, key string) error {
			if call == "swap" && key == "orders/node-ids-initialized" && !once.Swap(true) {
				return other.DestroySequencer(b.Context(), "orders")
			}
			return nil
		})
		b.wants(slow.Scale(b.Context(), "orders", 6), sequencer.ErrDestroyed)
		h := b.create(other)
		if st, _ := other.Status(b.Context(), "orders"); st.Slots != 4 || st.Generation != 2 {
			b.Errorf("status %+v", st)
		}
		if err := other.Scale(b.Context(), "orders", 6); err != nil {
			b.Error(err)
		}
		if r := b.record(5); r.State != record.Free || record.LifeNumber(r.Life) != 2 {
			b.Errorf("got %+v", r)
		}
		b.next(h)
	})
}

// TestDamagedRecordIsSkippedAndRepaired is Z20, Z21 and H6: a record that is missing or
// unreadable is never made again but by Repair, which begins at its floor.
func TestDamagedRecordIsSkippedAndRepaired(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.create(b.client())
		b.overwrite("orders/1.json", "{")
		b.remove("orders/2.json")
		c := b.client()
		if h := b.create(c); node(b, h) != 3 || c.Health().Corrupt != 2 {
			b.Errorf("node %d, health %+v", node(b, h), c.Health())
		}
		s, err := c.Status(b.Context(), "orders")
		if err != nil || s.Records[1].State != "damaged" || s.Records[2].State != "damaged" {
			b.Errorf("status %+v, %v", s, err)
		}
		b.wants(s.Records[2].Err, ErrDamaged)
		floor := bubbleClock().Add(3 * time.Second)
		for _, node := range []sequencer.NodeID{1, 2} {
			if err := c.Repair(b.Context(), "orders", node, floor); err != nil {
				b.Fatal(err)
			}
		}
		h := b.create(b.client())
		if b.next(h); node(b, h) != 1 || b.record(1).From.Time().Before(floor.Truncate(time.Millisecond)) {
			b.Errorf("node %d, %+v", node(b, h), b.record(1))
		}
		b.wants(c.Repair(b.Context(), "orders", 0, floor), sequencer.ErrConflict)       // it is held
		b.wants(c.Repair(b.Context(), "orders", 2, floor), sequencer.ErrConflict)       // it needs none
		b.wants(c.Repair(b.Context(), "orders", 9, floor), sequencer.ErrInvalidConfig)  // there is none
		b.wants(c.Repair(b.Context(), "orders", 2, time.Time{}), sequencer.ErrConflict) // it needs none
		b.remove("orders/2.json")
		b.wants(c.Repair(b.Context(), "orders", 2, time.Time{}), sequencer.ErrInvalidConfig)
		b.wants(c.Repair(b.Context(), "others", 2, floor), sequencer.ErrNotFound)
	})
}

// TestHoldersRecordIsDeleted: the holder goes to another node and says why, and the record
// stays missing.
func TestHoldersRecordIsDeleted(t *testing.T) {
	inBubble(t, func(b *bench) {
		lost := make(chan Loss, 9)
		h := b.create(b.client(func(c *Config) { c.OnLost = func(l Loss) { lost <- l } }))
		b.remove("orders/0.json")
		for range 60 {
			b.next(h)
			time.Sleep(100 * time.Millisecond)
		}
		l := <-lost
		b.wants(l.Cause, ErrDamaged)
		if node(b, h) != 1 || !strings.Contains(l.Cause.Error(), "repair") || h.Stats().GrantWaits != 0 {
			b.Errorf("node %d, %v", node(b, h), l.Cause)
		}
		if _, err := b.store.Load(b.Context(), "orders/0.json"); err == nil {
			b.Error("it was made again")
		}
	})
}

// TestDestroyWaitsForTheRepairOfAMissingRecord is H7.
func TestDestroyWaitsForTheRepairOfAMissingRecord(t *testing.T) {
	inBubble(t, func(b *bench) {
		c := b.client()
		b.next(b.create(c))
		b.remove("orders/2.json")
		b.wants(c.DestroySequencer(b.Context(), "orders"), ErrDamaged)
		_, err := c.CreateSequencer(b.Context(), "orders", sequencer.Config{})
		b.wants(err, ErrDamaged)
		floor := bubbleClock().Add(8 * time.Second)
		if err := c.Repair(b.Context(), "orders", 2, floor); err != nil {
			b.Fatal(err)
		}
		h := b.create(c) // completes the destroy first
		if s, _ := c.Status(b.Context(), "orders"); s.Generation != 2 || s.Mark.Before(floor.Truncate(time.Millisecond)) {
			b.Errorf("status %+v", s)
		}
		b.next(h)
	})
}

// TestDestroyIsCompletedByAnyClient is H7: a destroy that was stopped after any of its
// writes is completed by the next create.
func TestDestroyIsCompletedByAnyClient(t *testing.T) {
	for stop := int64(1); stop <= 6; stop++ {
		inBubble(t, func(b *bench) {
			s := &hooked{Memory: NewMemory()}
			b.store = s
			c, other := b.client(), b.client()
			h := b.create(c)
			b.next(h)
			held := b.create(other)
			last := b.next(held)
			var writes atomic.Int64
			s.setBefore(func(_ context.Context, call, _ string) error {
				if call == "swap" && writes.Add(1) > stop {
					return errAway
				}
				return nil
			})
			if err := c.DestroySequencer(b.within(500*time.Millisecond), "orders"); err == nil {
				b.Fatal("the destroy came to its end")
			}
			writes.Store(-1 << 40)
			third := b.client()
			again := b.create(third)
			if id := b.next(again); id <= last {
				b.Errorf("%d after %d", id, last)
			}
			time.Sleep(2 * time.Second)
			if held.State() != sequencer.Destroyed {
				b.Errorf("after %d writes: %v", stop, held.State())
			}
			if st, err := third.Status(b.Context(), "orders"); err != nil || st.Generation != 2 {
				b.Errorf("%+v, %v", st, err)
			}
		})
	}
}

// TestMissingDocumentIsDamage: the name is not begun again beside its records.
func TestMissingDocumentIsDamage(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.create(b.client())
		b.remove("orders/sequencer.json")
		_, err := b.client().CreateSequencer(b.Context(), "orders", sequencer.Config{})
		b.wants(err, ErrDamaged)
		if err == nil || !strings.Contains(err.Error(), "orders/sequencer.json") {
			b.Errorf("got %v", err)
		}
	})
}

// emptied is a store that has empty bodies, which no client writes.
type emptied struct{ *Memory }

const emptyBody = "empty"

func (s emptied) Load(ctx context.Context, key string) (Entry, error) {
	e, err := s.Memory.Load(ctx, key)
	if string(e.Body) == emptyBody {
		e.Body = []byte{}
	}
	return e, err
}

func (s emptied) List(ctx context.Context, prefix string) ([]Entry, error) {
	all, err := s.Memory.List(ctx, prefix)
	for i := range all {
		all[i].Body = nil
	}
	return all, err
}

// TestRecordsOfTheOriginal: released objects of the original are empty, and its marker too;
// they are used with the versions of their metadata, after a window.
func TestRecordsOfTheOriginal(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.store = emptied{NewMemory()}
		for key, version := range map[string]string{"orders/0.json": "7", "orders/1.json": "3",
			"orders/node-ids-initialized": ""} {
			e := Entry{Key: key, Body: []byte(emptyBody), Meta: map[string]string{"version": version}}
			if _, err := b.store.Swap(b.Context(), e); err != nil {
				b.Fatal(err)
			}
		}
		began := time.Now()
		c := b.client()
		h := b.create(c)
		b.next(h)
		if r := b.record(0); r.Version != 8 || time.Since(began) < 3*time.Second {
			b.Errorf("%+v after %v", r, time.Since(began))
		}
		if s, err := c.Status(b.Context(), "orders"); err != nil || s.Slots != 2 {
			b.Errorf("status %+v, %v", s, err)
		}
	})
}

// TestReadiness is Z16 to Z18.
func TestReadiness(t *testing.T) {
	inBubble(t, func(b *bench) {
		var known atomic.Int64
		knows := func(c *Config) {
			c.Pool = 2
			c.Known = func() map[int]uint64 { return map[int]uint64{0: uint64(known.Load())} }
		}
		first := b.client(knows)
		b.create(first)
		peer := b.client(knows)
		b.create(peer)
		if h := first.Health(); !h.Ready {
			b.Errorf("without a predecessor: %+v", h)
		}
		_ = first.Close()
		time.Sleep(4 * time.Second)
		second := b.client(knows)
		b.create(second)
		time.Sleep(30 * time.Second)
		if h := second.Health(); h.Ready || !h.Valid || !strings.Contains(h.Reason, "predecessor") {
			b.Errorf("its peer does not know of it: %+v", h)
		}
		known.Store(2)
		time.Sleep(7 * time.Second)
		if h := second.Health(); !h.Ready {
			b.Errorf("its peer knows of it: %+v", h)
		}
		if err := second.Leave(b.Context()); err != nil {
			b.Fatal(err)
		}
		third := b.client(knows)
		b.create(third)
		if h := third.Health(); !h.Ready || !h.Sequencers[0].PredecessorGraceful || h.Sequencers[0].Version != 3 {
			b.Errorf("after a graceful predecessor: %+v", h)
		}
		_ = third.Close()
		time.Sleep(4 * time.Second)
		fourth := b.client(knows, func(c *Config) { c.ReadyTimeout = time.Minute })
		b.create(fourth)
		time.Sleep(59 * time.Second)
		if h := fourth.Health(); h.Ready {
			b.Errorf("before the timeout: %+v", h)
		}
		time.Sleep(2 * time.Second)
		if h := fourth.Health(); !h.Ready {
			b.Errorf("after the timeout: %+v", h)
		}
	})
}

// TestSlowStoreIsNotReady is Z14 and Z15.
func TestSlowStoreIsNotReady(t *testing.T) {
	inBubble(t, func(b *bench) {
		var slow atomic.Bool
		b.store = &hooked{Memory: NewMemory(), before: func(ctx context.Context, _, _ string) error {
			if slow.Load() {
				signal.Sleep(ctx, 10*time.Second)
				return ctx.Err()
			}
			return nil
		}}
		c := b.client(func(c *Config) { c.Window = 5 * time.Second })
		b.create(c)
		if h := c.Health(); !h.Ready {
			b.Errorf("health %+v", h)
		}
		slow.Store(true)
		time.Sleep(4 * time.Second)
		if h := c.Health(); h.Ready || !h.Valid {
			b.Errorf("after 4 s: %+v", h)
		}
		time.Sleep(4 * time.Second)
		if h := c.Health(); h.Ready || h.Valid || h.Reason == "" {
			b.Errorf("after 8 s: %+v", h)
		}
		_ = c.Close()
		if h := c.Health(); h.Ready || h.Valid {
			b.Errorf("closed: %+v", h)
		}
	})
}

// TestStripes: several nodes in one handle, returned together.
func TestStripes(t *testing.T) {
	inBubble(t, func(b *bench) {
		c := b.client()
		s, err := c.CreateStriped(b.Context(), "orders", sequencer.Config{}, 3)
		if err != nil {
			b.Fatal(err)
		}
		for range 100 {
			id, err := s.Next(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			b.note(id)
		}
		_, err = b.client().CreateStriped(b.within(5*time.Second), "orders", sequencer.Config{}, 2)
		b.wants(err, sequencer.ErrNoFreeNode)
		time.Sleep(time.Second) // the attached one is returned in the background
		held := 0
		for n := range sequencer.NodeID(4) {
			if b.record(n).State == record.Held {
				held++
			}
		}
		if held != 3 {
			b.Errorf("%d nodes are held", held)
		}
		if err := s.Leave(b.Context()); err != nil {
			b.Fatal(err)
		}
		for n := range sequencer.NodeID(4) {
			if r := b.record(n); r.State != record.Free {
				b.Errorf("node %d: %v", n, r.State)
			}
		}
	})
}

// TestForget ends one handle and returns its node.
func TestForget(t *testing.T) {
	inBubble(t, func(b *bench) {
		c := b.client()
		h := b.create(c)
		if err := c.Forget(b.Context(), "orders"); err != nil || b.record(0).State != record.Free {
			b.Errorf("%v, %v", err, b.record(0).State)
		}
		_, err := h.Next(b.Context())
		b.wants(err, sequencer.ErrClosed)
		if other := b.create(c); other == h {
			b.Error("the same handle")
		}
	})
}

// TestFarAheadRecordIsSkipped is ZH4 and EH7: a node that a fast clock has granted is left
// alone, is counted, and can be repaired unless the record shows that IDs above the floor were issued.
func TestFarAheadRecordIsSkipped(t *testing.T) {
	inBubble(t, func(b *bench) {
		fast := b.client(fastClock)
		b.create(fast)
		if err := fast.Leave(b.Context()); err != nil {
			b.Fatal(err)
		}
		c := b.client()
		h := b.create(c)
		if node(b, h) != 1 || c.Health().Ahead != 1 {
			b.Errorf("node %d, %+v", node(b, h), c.Health())
		}
		if err := c.Repair(b.Context(), "orders", 0, bubbleClock()); err != nil {
			b.Fatal(err)
		}
		if h = b.create(b.client()); node(b, h) != 0 {
			b.Errorf("node %d after the repair", node(b, h))
		}
	})
	inBubble(t, func(b *bench) {
		fast := b.client(fastClock)
		b.next(b.create(fast)) // an hour ahead
		if err := fast.Leave(b.Context()); err != nil {
			b.Fatal(err)
		}
		c, used := b.client(), b.record(0).LastUsed.TimeOrZero()
		for _, floor := range []time.Time{bubbleClock(), used} {
			b.wants(c.Repair(b.Context(), "orders", 0, floor), sequencer.ErrInvalidConfig)
		}
		if err := c.Repair(b.Context(), "orders", 0, used.Add(time.Millisecond)); err != nil {
			b.Error(err)
		}
	})
}

// fastClock sets a client's clock an hour ahead.
func fastClock(c *Config) { c.Clock = func() time.Time { return bubbleClock().Add(time.Hour) } }

// TestClockBehindAnotherHolders: a client whose clock is behind a holder's reports it with both times, once,
// and takes a node all the same. A difference within MaxSkew is none.
func TestClockBehindAnotherHolders(t *testing.T) {
	inBubble(t, func(b *bench) {
		lead := func(d time.Duration) func(*Config) {
			return func(c *Config) { c.Clock = func() time.Time { return bubbleClock().Add(d) } }
		}
		b.create(b.client(lead(4 * time.Second)))
		var log bytes.Buffer
		logged := func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) }
		c := b.client(logged)
		b.next(b.create(c))
		synctest.Wait()
		if behind := c.Health().Behind; behind != 0 || strings.Contains(log.String(), "behind") {
			b.Errorf("within MaxSkew: behind %v, log %s", behind, log.String())
		}
		this, other := logTime(bubbleClock()), logTime(bubbleClock().Add(7*time.Second))
		b.create(b.client(lead(7*time.Second), func(c *Config) { c.Task = "fast" }))
		c = b.client(logged)
		h := b.create(c)
		b.next(h)
		if err := h.DetachLogicalNode(b.Context()); err != nil {
			b.Fatal(err)
		}
		if err := h.AttachLogicalNode(b.Context()); err != nil {
			b.Fatal(err)
		}
		synctest.Wait() // the log is written in a goroutine
		if behind := c.Health().Behind; behind < 7*time.Second || behind > 8*time.Second {
			b.Errorf("behind %v", behind)
		}
		text := log.String()
		for _, part := range []string{"this_clock=" + this, "other_clock=" + other, "task=fast", "node=2"} {
			if !strings.Contains(text, part) {
				b.Errorf("no %q in the log:\n%s", part, text)
			}
		}
		if n := strings.Count(text, "behind another holder's"); n != 1 {
			b.Errorf("%d lines:\n%s", n, text)
		}
	})
}

// logTime returns a time as a log has it.
func logTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// TestRepairOfAHeldRecord: a record that a process whose clock was an hour ahead held when it was killed is
// free after one repair. While that process runs it is refused, whatever the moment of a renewal is.
func TestRepairOfAHeldRecord(t *testing.T) {
	inBubble(t, func(b *bench) {
		fast := b.client(fastClock)
		b.create(fast)
		c := b.client()
		floor := bubbleClock().Add(4 * time.Second)
		for range 5 {
			err := c.Repair(b.Context(), "orders", 0, floor)
			b.wants(err, sequencer.ErrConflict)
			if !strings.Contains(err.Error(), "has renewed it now") {
				b.Errorf("%v", err)
			}
			time.Sleep(317 * time.Millisecond)
		}
		held := b.record(0)
		if held.State != record.Held || held.Version != 1 {
			b.Errorf("its holder runs: %+v", held)
		}
		if err := fast.Close(); err != nil { // as if it were killed
			b.Fatal(err)
		}
		began := time.Now()
		b.wants(c.Repair(b.within(time.Second), "orders", 0, floor), context.DeadlineExceeded)
		if r := b.record(0); r.Nonce != held.Nonce && r.State != record.Held {
			b.Errorf("before a window has passed: %+v", r)
		}
		if err := c.Repair(b.Context(), "orders", 0, floor); err != nil {
			b.Fatal(err)
		}
		if took := time.Since(began); took < 4*time.Second || took > 5*time.Second {
			b.Errorf("it took %v", took)
		}
		if r := b.record(0); r.State != record.Free || r.Bound != clustertime.TickOf(floor) || r.Version != 1 {
			b.Errorf("repaired: %+v", r)
		}
		h := b.create(c)
		if id := b.next(h); node(b, h) != 0 || h.Definition().Decompose(id).Time.Before(floor.Truncate(time.Millisecond)) {
			b.Errorf("node %d, ID %v", node(b, h), h.Definition().Decompose(id))
		}
	})
}
