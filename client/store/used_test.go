package store

import (
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestRenewalReportsUse: a renewal writes the timestamp of the handle's last ID.
func TestRenewalReportsUse(t *testing.T) {
	inBubble(t, func(b *bench) {
		h, err := b.client().CreateSequencer(b.Context(), "orders", sequencer.Config{})
		if err != nil {
			b.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		id, err := h.Next(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		time.Sleep(1500 * time.Millisecond) // a renewal is due every 0.8 to 1 s
		e, err := b.store.Load(b.Context(), record.KeysOf("", "orders").Record(0))
		if err != nil {
			b.Fatal(err)
		}
		r, err := record.Decode(e.Body, e.Meta)
		if err != nil || r.LastUsed.Time() != h.Definition().Decompose(id).Time {
			b.Errorf("the record reports %v, %v, and the last ID is of %v", r.LastUsed.Time(), err,
				h.Definition().Decompose(id).Time)
		}
	})
}
