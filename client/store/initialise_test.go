package store

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

// TestHalfDoneInitialisationIsCompleted is Z2: the creator ends after any of its writes, and the
// next client completes what it has begun.
func TestHalfDoneInitialisationIsCompleted(t *testing.T) {
	const writes = 1 + 4 + 1 + 1 // the document, the records, the marker, the document again
	for done := range writes {
		inBubble(t, func(b *bench) {
			var left atomic.Int64 // records are written beside each other
			left.Store(int64(done))
			h := &hooked{Memory: NewMemory()}
			b.store = h
			creator, second := b.client(), b.client()
			h.setBefore(func(_ context.Context, call, _ string) error {
				if call != "swap" {
					return nil
				}
				if left.Add(-1) < 0 {
					return errAway
				}
				return nil
			})
			if _, err := creator.CreateSequencer(b.within(time.Second), "orders", sequencer.Config{}); err == nil {
				b.Fatalf("after %d writes: created", done)
			}
			_ = creator.Close()
			h.setBefore(nil)
			b.next(b.create(second))
			want := []string{"orders/0.json", "orders/1.json", "orders/2.json", "orders/3.json", "orders/node-ids-initialized",
				"orders/sequencer.json", "probe.json"}
			if got := b.keys(); !slices.Equal(got, want) {
				b.Errorf("after %d writes: keys %q", done, got)
			}
			if d, _, err := second.document(b.Context(), "orders"); err != nil || !d.Initialized {
				b.Errorf("after %d writes: %+v, %v", done, d, err)
			}
		})
	}
}

// TestMissingKeyOfAnInitializedSequencerIsDamage: a marker or a record that was written once is
// never made again by a client, whichever of them are missing together, since it had the bound
// of a holder that may still run.
func TestMissingKeyOfAnInitializedSequencerIsDamage(t *testing.T) {
	const marker, held = "orders/node-ids-initialized", "orders/0.json"
	for what, gone := range map[string][]string{
		"the marker":                {marker},
		"the marker and a record":   {marker, held},
		"the marker and all others": {marker, held, "orders/1.json", "orders/2.json", "orders/3.json"},
	} {
		for _, life := range []int{1, 2} {
			inBubble(t, func(b *bench) {
				first := b.client()
				for range life - 1 {
					b.create(first)
					if err := first.DestroySequencer(b.Context(), "orders"); err != nil {
						b.Fatal(err)
					}
				}
				b.next(b.create(first))
				before := b.keys()
				for _, key := range gone {
					if err := b.store.(*Memory).Delete(b.Context(), key); err != nil {
						b.Fatal(err)
					}
				}
				c := b.client()
				_, err := c.CreateSequencer(b.within(time.Minute), "orders", sequencer.Config{})
				b.wants(err, ErrDamaged)
				b.wants(c.DestroySequencer(b.Context(), "orders"), ErrDamaged)
				for _, key := range before {
					if back := slices.Contains(b.keys(), key); back == slices.Contains(gone, key) {
						b.Errorf("%s missing in life %d: keys are %q", what, life, b.keys())
					}
				}
			})
		}
	}
}

// TestHeldRecordIsNotRepaired is H6: also if its holder's clock is far ahead, since the floor of a
// repair may be below what it issues.
func TestHeldRecordIsNotRepaired(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.next(b.create(b.client(
			func(c *Config) { c.Clock = func() time.Time { return bubbleClock().Add(24 * time.Hour) } })))
		before := b.record(0)
		c := b.client()
		b.wants(c.Repair(b.Context(), "orders", 0, bubbleClock().Add(3*time.Second)), sequencer.ErrConflict)
		if after := b.record(0); after.Attachment != before.Attachment || after.Bound < before.Bound {
			b.Errorf("the record was %+v and is %+v", before, after)
		}
	})
}
