package gridtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestNextLifeInAGrid: a name that is created again after a destroy has IDs above the earlier ones if epoch and
// layout are the same, whatever its nodes are. With a later epoch its IDs can repeat earlier ones, as RELIABILITY.md
// says: a grid forgets the definition of a destroyed name.
func TestNextLifeInAGrid(t *testing.T) {
	t.Parallel()
	const shift = 60 * time.Second
	for what, c := range map[string]struct {
		again   sequencer.Config
		repeats bool
	}{
		"other nodes":   {sequencer.Config{Nodes: 128, NodeRange: sequencer.NodeRange{Lo: 0, Hi: 9}}, false},
		"a later epoch": {sequencer.Config{Epoch: epoch.At(epoch.Default.Time().Add(shift))}, true},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true, Logger: logger()})
				client := g.Client("c0")
				issued, largest := map[sequencer.ID]bool{}, sequencer.ID(0)
				first := create(t, client, "orders", 0)
				node, _ := first.LogicalNode()
				began := time.Now()
				for range 2000 {
					id, err := first.Next(t.Context())
					ok(t, "next", err)
					issued[id], largest = true, max(largest, id)
				}
				ok(t, "destroy", client.DestroySequencer(within(t, time.Minute), "orders"))
				time.Sleep(time.Until(began.Add(shift - 5*time.Millisecond)))
				again, err := client.CreateSequencer(within(t, time.Minute), "orders", c.again)
				ok(t, "create again", err)
				if next, _ := again.LogicalNode(); next != node {
					t.Fatalf("node %d follows node %d", next, node)
				}
				repeated, smallest := 0, sequencer.ID(1<<62)
				for range 20_000 {
					id, err := again.Next(t.Context())
					ok(t, "next", err)
					smallest = min(smallest, id)
					if issued[id] {
						repeated++
					}
				}
				if repeats := repeated > 0; repeats != c.repeats || !repeats && smallest <= largest {
					t.Errorf("%d IDs repeated; the smallest is %d, the largest one before %d", repeated, smallest, largest)
				}
			})
		})
	}
}
