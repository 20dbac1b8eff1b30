package sonyflake_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/compat/sonyflake"
	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestNextIDOfConcurrentGoroutines: IDs are unique and ascend per goroutine, and their time has the unit of Settings.
func TestNextIDOfConcurrentGoroutines(t *testing.T) {
	s, _ := create(t)
	before := time.Now()
	sf := mustNew(t, sonyflake.Settings{Sequencer: s, TimeUnit: time.Millisecond, StartTime: before.Add(-time.Hour)})
	const goroutines, each = 4, 5000
	ids := make([][]int64, goroutines)
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for range each {
				id, err := sf.NextID()
				if err != nil {
					t.Error(err)
					return
				}
				ids[g] = append(ids[g], id)
			}
		})
	}
	all.Wait()
	seen := make(map[int64]bool)
	for _, of := range ids {
		last := int64(0)
		for _, id := range of {
			if id <= last || seen[id] {
				t.Fatalf("%d after %d, generated before: %v", id, last, seen[id])
			}
			seen[id], last = true, id
			parts, in := sf.Decompose(id), s.Definition().Decompose(sequencer.ID(id))
			elapsed := time.Duration(parts["time"]) * time.Millisecond
			if parts["id"] != id || parts["machine"] != int64(in.Node) || parts["sequence"] != int64(in.Counter) ||
				elapsed < time.Hour-time.Second || elapsed > time.Hour+time.Minute {
				t.Fatalf("%d has the parts %v, want %v", id, parts, in)
			}
			if at := sf.ToTime(id); !at.Equal(in.Time) || at.Location() != time.Local {
				t.Fatalf("%d is of %v, want %v", id, at, in.Time)
			}
		}
	}
	if len(seen) != goroutines*each {
		t.Errorf("%d IDs", len(seen))
	}
}

func TestNextIDErrors(t *testing.T) {
	cfg := sequencer.Config{Epoch: epoch.At(start)}
	over := mustNew(t, sonyflake.Settings{Sequencer: fixed{cfg: cfg, id: 5, err: sequencer.ErrEpochExhausted}})
	if id, err := over.NextID(); id != 0 || !errors.Is(err, sonyflake.ErrOverTimeLimit) ||
		!errors.Is(err, sequencer.ErrEpochExhausted) {
		t.Errorf("after the last ID: %d, %v", id, err)
	}
	const last = 70756435419989202
	low := mustNew(t, sonyflake.Settings{Sequencer: fixed{cfg: cfg, id: last + 1}, Last: last})
	if id, err := low.NextID(); id != 0 || !errors.Is(err, sequencer.ErrInvalidConfig) {
		t.Errorf("an ID in the time unit of Last: %d, %v", id, err)
	}
	s, c := create(t)
	sf := mustNew(t, sonyflake.Settings{Sequencer: s})
	_ = c.Close()
	if id, err := sf.NextIDContext(t.Context()); id != 0 || !errors.Is(err, sequencer.ErrClosed) {
		t.Errorf("after Close: %d, %v", id, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	waits := mustNew(t, sonyflake.Settings{Sequencer: waiting{fixed{cfg: cfg}}})
	if id, err := waits.NextIDContext(ended); id != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("after the context's end: %d, %v", id, err)
	}
}

// waiting is a source that returns nothing before the context's end.
type waiting struct{ fixed }

func (w waiting) Next(ctx context.Context) (sequencer.ID, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

// TestFirstIDIsAfterStartTime: with the present as StartTime the first ID is in a later time unit, as sonyflake's.
func TestFirstIDIsAfterStartTime(t *testing.T) {
	s, _ := create(t)
	for _, unit := range []time.Duration{1e6, 1.5e6, 10e6, 50e6} { // 1 to 50 ms
		began := time.Now()
		sf := mustNew(t, sonyflake.Settings{Sequencer: s, StartTime: began, TimeUnit: unit})
		id, err := sf.NextID()
		if err != nil {
			t.Fatal(err)
		}
		if at, part := sf.ToTime(id), sf.Decompose(id)["time"]; at.Before(began) || part < 1 {
			t.Errorf("the first ID in units of %v is of %v, unit %d, after a start at %v", unit, at, part, began)
		}
	}
}

func TestNextIDBeforeStartTime(t *testing.T) {
	cfg, now := sequencer.Config{Epoch: epoch.At(start)}, time.Now()
	at := func(at time.Time) fixed {
		f := fixed{cfg: cfg}
		f.id = f.Definition().MinID(at)
		return f
	}
	sf := mustNew(t, sonyflake.Settings{Sequencer: at(now.Add(-6 * time.Second)), StartTime: now})
	if id, err := sf.NextID(); id != 0 || !errors.Is(err, sonyflake.ErrStartTimeAhead) {
		t.Errorf("6 s behind StartTime: %d, %v", id, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	sf = mustNew(t, sonyflake.Settings{Sequencer: at(now), StartTime: now, TimeUnit: time.Hour})
	if id, err := sf.NextIDContext(ended); id != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("after the context's end: %d, %v", id, err)
	}
}

// TestFirstMillisecondIsRoundedUp: if a time unit ends inside a millisecond, the first ID is in the next one.
func TestFirstMillisecondIsRoundedUp(t *testing.T) {
	f := of(epoch.At(start))
	f.id = f.Definition().MinID(start.Add(time.Millisecond))
	sf := mustNew(t, sonyflake.Settings{
		Sequencer: f, StartTime: start.Add(1200 * time.Microsecond), TimeUnit: 1500 * time.Microsecond})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if id, err := sf.NextIDContext(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the ID %d is of %v, before the start: %v", id, sf.ToTime(id), err)
	}
}

// TestNextIDAfterTheTimeLimit: a real sequencer's last ID is followed by ErrOverTimeLimit.
func TestNextIDAfterTheTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := func() time.Time { return time.Now().AddDate(26, 0, 0) } // a bubble begins in 2000
		c, err := store.Open(t.Context(), store.NewMemory(), store.Config{Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		const span = time.Millisecond << 32
		s, err := c.CreateSequencer(t.Context(), "short", sequencer.Config{
			Layout: sequencer.Layout{Bits: 37, LowBits: 5, Nodes: 16}, Epoch: epoch.At(clock().Add(time.Minute - span))})
		if err != nil {
			t.Fatal(err)
		}
		sf := mustNew(t, sonyflake.Settings{Sequencer: s})
		if _, err := sf.NextID(); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if id, err := sf.NextIDContext(ctx); id != 0 || !errors.Is(err, sonyflake.ErrOverTimeLimit) {
			t.Errorf("after the limit: %d, %v", id, err)
		}
	})
}

func TestNextIDAllocatesNothing(t *testing.T) {
	s, _ := create(t)
	sf := mustNew(t, sonyflake.Settings{Sequencer: s})
	if n := testing.AllocsPerRun(1000, func() { _, _ = sf.NextID() }); n > 0 {
		t.Errorf("%v allocations per ID", n)
	}
}
