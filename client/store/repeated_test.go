package store

import (
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestNextLifeRepeatsNoID: a name that is created again after a destroy has IDs above every ID of its earlier
// lives, whatever its epoch, layout and nodes are, or it is refused.
func TestNextLifeRepeatsNoID(t *testing.T) {
	const shift = 30 * time.Second
	origin := epoch.Default.Time()
	for what, c := range map[string]struct {
		again   sequencer.Config
		refused bool
	}{
		"the same definition": {sequencer.Config{}, false},
		"fewer nodes":         {sequencer.Config{Nodes: 128}, false},
		"a node range":        {sequencer.Config{NodeRange: sequencer.NodeRange{Lo: 0, Hi: 1}}, false},
		"an earlier epoch":    {sequencer.Config{Epoch: epoch.At(origin.Add(-shift))}, false},
		"a later epoch":       {sequencer.Config{Epoch: epoch.At(origin.Add(shift))}, true},
		"a smaller layout":    {sequencer.Config{Layout: sequencer.JSSafe()}, true},
		"Twitter's IDs":       {sequencer.Config{Layout: sequencer.Twitter(), Epoch: epoch.Twitter}, false},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				c1 := b.client()
				first, began := b.create(c1), time.Now()
				var largest sequencer.ID
				for range 100 {
					largest = max(largest, b.next(first))
				}
				if err := c1.DestroySequencer(b.Context(), "orders"); err != nil {
					b.Fatal(err)
				}
				time.Sleep(time.Until(began.Add(shift)))
				again, err := b.client().CreateSequencer(b.Context(), "orders", c.again)
				if c.refused {
					b.wants(err, sequencer.ErrConflict)
				} else if err != nil {
					b.Fatal(err)
				}
				if err == nil {
					for range 100 {
						if id := b.next(again); id <= largest {
							b.Fatalf("ID %d is not above %d of the earlier life", id, largest)
						}
					}
					return
				}
				text := err.Error()
				if def, _ := sequencer.Define("orders", c.again); !strings.Contains(text, def.String()) ||
					!strings.Contains(text, first.Definition().String()) || !strings.Contains(text, "another name") {
					b.Errorf("the message %q lacks a definition or the remedy", text)
				}
				b.next(b.create(b.client())) // the earlier definition remains possible
			})
		})
	}
}
