package store

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

// repairAfter runs change between the reads of the document and of the record by a repair.
func (b *bench) repairAfter(floor time.Time, change func(ctx context.Context)) error {
	b.Helper()
	memory := b.store.(*Memory)
	paused := &hooked{Memory: memory}
	b.store = paused
	operator := b.client()
	b.store = memory
	paused.setBefore(func(ctx context.Context, call, key string) error {
		if call == "load" && strings.HasSuffix(key, "/0.json") {
			paused.setBefore(nil)
			change(ctx)
		}
		return nil
	})
	return operator.Repair(b.Context(), "orders", 0, floor)
}

// TestRepairOfALaterLife: a repair whose document was read before the name was destroyed and created again
// leaves the record of the later life, whose holder may have been granted more than the floor.
func TestRepairOfALaterLife(t *testing.T) {
	inBubble(t, func(b *bench) {
		one := func(cfg *Config) { cfg.Pool = 1 }
		c, early, late := b.client(one), b.client(one), b.client(one)
		b.next(b.create(c))
		first, err := early.OpenSequencer(b.Context(), "orders")
		if err != nil {
			b.Fatal(err)
		}
		var second *sequencer.Sequencer
		err = b.repairAfter(bubbleClock().Add(3*time.Second), func(ctx context.Context) {
			if err := c.DestroySequencer(ctx, "orders"); err != nil {
				b.Error(err)
			}
			time.Sleep(500 * time.Millisecond)
			second = b.create(late)
			b.next(second)
		})
		b.wants(err, sequencer.ErrDestroyed)
		b.wants(first.AttachLogicalNode(b.within(time.Second)), sequencer.ErrDestroyed)
		for range 4000 { // until the grant of the later life's holder has ended, if it lost its record
			for _, h := range []*sequencer.Sequencer{first, second} {
				if id, err := h.Next(b.within(time.Millisecond)); err == nil {
					b.note(id)
				}
			}
		}
	})
}

// TestRepairAfterADestroy: a repair that a destroy overtakes does not open the closed record again, so that a
// handle of the life that has ended could take it.
func TestRepairAfterADestroy(t *testing.T) {
	inBubble(t, func(b *bench) {
		one := func(cfg *Config) { cfg.Pool = 1 }
		fast := b.client(one, fastClock)
		b.create(fast)
		c := b.client(one)
		first, err := c.OpenSequencer(b.Context(), "orders")
		if err != nil {
			b.Fatal(err)
		}
		if err := fast.Close(); err != nil { // as if it were killed, granted to an hour ahead
			b.Fatal(err)
		}
		err = b.repairAfter(bubbleClock().Add(4*time.Second), func(ctx context.Context) {
			if err := b.client(one).DestroySequencer(ctx, "orders"); err != nil {
				b.Error(err)
			}
		})
		b.wants(err, sequencer.ErrDestroyed)
		b.wants(first.AttachLogicalNode(b.within(time.Second)), sequencer.ErrDestroyed)
	})
}
