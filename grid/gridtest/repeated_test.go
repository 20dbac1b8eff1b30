package gridtest_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestNextLifeInAGrid: a name that is created again after a destroy has IDs above the earlier ones if epoch and
// layout are the same, whatever its nodes are. A later epoch, with which IDs would repeat, is refused, although
// cluster time has passed the end of all grants of the earlier life, and every member was restarted since.
func TestNextLifeInAGrid(t *testing.T) {
	t.Parallel()
	const shift = 60 * time.Second
	for what, c := range map[string]struct {
		again   sequencer.Config
		refused bool
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
				time.Sleep(time.Until(began.Add(shift / 2)))
				for _, member := range g.Running() {
					g.Crash(member)
					g.StartMembers(member)
				}
				time.Sleep(time.Until(began.Add(shift - 5*time.Millisecond)))
				again, err := client.CreateSequencer(within(t, time.Minute), "orders", c.again)
				if c.refused {
					if !errors.Is(err, sequencer.ErrConflict) || !strings.Contains(err.Error(), "IDs could repeat") {
						t.Errorf("create with %v: %v, want ErrConflict", c.again.Epoch, err)
					}
					again, err = client.CreateSequencer(within(t, time.Minute), "orders", sequencer.Config{})
				}
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
				if repeated > 0 || smallest <= largest {
					t.Errorf("%d IDs repeated; the smallest is %d, the largest one before %d", repeated, smallest, largest)
				}
			})
		})
	}
}
