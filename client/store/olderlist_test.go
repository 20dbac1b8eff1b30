package store

import (
	"context"
	"testing"

	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// olderList is a store whose listings show an earlier state.
type olderList struct {
	*Memory
	shown []Entry
}

func (o *olderList) List(ctx context.Context, prefix string) ([]Entry, error) {
	if o.shown != nil {
		return o.shown, nil
	}
	return o.Memory.List(ctx, prefix)
}

// TestScaleWithAnOlderList: a scale retires and restores records although the listing shows them in that state
// already.
func TestScaleWithAnOlderList(t *testing.T) {
	inBubble(t, func(b *bench) {
		older := &olderList{Memory: NewMemory()}
		b.store = older
		c := b.client()
		b.create(c)
		scale := func(slots int) (listed []Entry) {
			b.Helper()
			if err := c.Scale(b.Context(), "orders", slots); err != nil {
				b.Fatal(err)
			}
			for node := range 4 {
				if retired := b.record(sequencer.NodeID(node)).State == record.Retired; retired != (node >= slots) {
					b.Errorf("%d slots: node %d is %v", slots, node, b.record(sequencer.NodeID(node)).State)
				}
			}
			listed, err := older.Memory.List(b.Context(), "orders/")
			if err != nil {
				b.Fatal(err)
			}
			return listed
		}
		all := scale(4)
		one := scale(1)
		scale(4)
		older.shown = one
		scale(1)
		older.shown = all
		scale(4)
	})
}
