package store

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// lateStore delays the first swap of a key until deliver is called. The caller's context ends before.
type lateStore struct {
	*Memory
	suffix string

	mu   sync.Mutex
	late Entry
}

// Swap implements Store.
func (s *lateStore) Swap(ctx context.Context, e Entry) (Revision, error) {
	if !s.delays(e) {
		return s.Memory.Swap(ctx, e)
	}
	<-ctx.Done()
	return "", ctx.Err()
}

func (s *lateStore) delays(e Entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.late.Key != "" || !strings.HasSuffix(e.Key, s.suffix) || e.Revision == "" {
		return false
	}
	s.late = e
	return true
}

// deliver carries out the delayed swap.
func (s *lateStore) deliver(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.Memory.Swap(ctx, s.late)
	return err
}

// TestLateRetireAndRestore: a retire or restore whose caller no longer waits does not land after a call that found
// the record in the right state already.
func TestLateRetireAndRestore(t *testing.T) {
	type call func(ctx context.Context, c *Client) error
	scale := func(slots int) call {
		return func(ctx context.Context, c *Client) error { return c.Scale(ctx, "orders", slots) }
	}
	retire := func(ctx context.Context, c *Client) error { return c.Retire(ctx, "orders", 3) }
	restore := func(ctx context.Context, c *Client) error { return c.Restore(ctx, "orders", 3) }
	nothing := func(context.Context, *Client) error { return nil }
	for what, c := range map[string]struct {
		before, slow, then call
		want               record.State
	}{
		"scale down, up":  {nothing, scale(2), scale(4), record.Free},
		"retire, restore": {nothing, retire, restore, record.Free},
		"restore, retire": {retire, restore, retire, record.Retired},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				memory := b.store.(*Memory)
				slowly := &lateStore{Memory: memory, suffix: "/3.json"}
				b.store = slowly
				slow := b.client()
				b.store = memory
				fast := b.client()
				b.next(b.create(fast))
				if err := c.before(b.Context(), fast); err != nil {
					b.Fatal(err)
				}
				b.wants(c.slow(b.within(time.Second), slow), context.DeadlineExceeded)
				if err := c.then(b.Context(), fast); err != nil {
					b.Fatalf("then: %v", err)
				}
				b.wants(slowly.deliver(b.Context()), ErrChanged)
				if r := b.record(3); r.State != c.want {
					b.Errorf("the record is %v", r.State)
				}
			})
		})
	}
}

// TestConcurrentScalesKeepAHolder: a scale that has read the number of records before another scale made more does
// not take a node from its holder.
func TestConcurrentScalesKeepAHolder(t *testing.T) {
	inBubble(t, func(b *bench) {
		memory := b.store.(*Memory)
		paused := &hooked{Memory: memory}
		b.store = paused
		slow := b.client()
		b.store = memory
		fast := b.client()
		b.create(fast)
		for range 3 {
			b.create(b.client())
		}
		var holder *sequencer.Sequencer
		var late atomic.Bool
		paused.setBefore(func(_ context.Context, call, key string) error {
			if call == "load" && strings.HasSuffix(key, "/4.json") && !late.Swap(true) {
				if err := fast.Scale(b.Context(), "orders", 6); err != nil {
					b.Error(err)
				}
				holder = b.create(b.client())
				b.next(holder)
			}
			return nil
		})
		if err := slow.Scale(b.Context(), "orders", 6); err != nil || holder == nil {
			b.Fatalf("the late scale: %v", err)
		}
		if r, n := b.record(4), node(b, holder); n != 4 || r.State != record.Held || r.Version != 1 {
			b.Errorf("the holder has node %d, and record 4 is %v in version %d", n, r.State, r.Version)
		}
		if r := b.record(5); r.State != record.Free {
			b.Errorf("record 5 is %v", r.State)
		}
	})
}

// TestConcurrentScalesRetireNoFreeNode: the same, of a node that is free: it can be taken at any time, also if the late
// scale goes no further.
func TestConcurrentScalesRetireNoFreeNode(t *testing.T) {
	inBubble(t, func(b *bench) {
		memory := b.store.(*Memory)
		paused := &hooked{Memory: memory}
		b.store = paused
		slow := b.client()
		b.store = memory
		fast := b.client()
		b.create(fast)
		var late, ended atomic.Bool
		paused.setBefore(func(ctx context.Context, call, key string) error {
			switch {
			case call == "load" && strings.HasSuffix(key, "/4.json") && !late.Swap(true):
				return fast.Scale(b.Context(), "orders", 6)
			case call == "swap" && strings.HasSuffix(key, "/node-ids-initialized"):
				ended.Store(true)
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		})
		b.wants(slow.Scale(b.within(time.Second), "orders", 5), context.DeadlineExceeded)
		if r := b.record(4); r.State != record.Free || !ended.Load() {
			b.Errorf("record 4 is %v", r.State)
		}
		if s, err := fast.Status(b.Context(), "orders"); err != nil || s.Slots != 6 {
			b.Errorf("status %+v, %v", s, err)
		}
	})
}
