package partition_test

import (
	"errors"
	"testing"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestHolderOfARecoveredGrid: a grid was recovered from directories without a partition's definitions, and has
// named disks for it since. A holder of the earlier grid continues. It ends where a directory had the definitions,
// and so do a name that was destroyed after the recovery and a name of this grid.
func TestHolderOfARecoveredGrid(t *testing.T) {
	for what, forgotten := range map[string][]roster.PartitionID{"forgotten": {0}, "kept": nil} {
		t.Run(what, func(t *testing.T) {
			n := newMachines(t, true, true)
			n.roster.Recovered = &roster.Recovery{Old: roster.GridID{9}, At: 1, Forgotten: forgotten}
			n.begin(0, 1)
			n.run()
			ended := n.create(0, "ended")
			n.run()
			end := n.destroy(0, "ended")
			n.run()
			end.is(true, nil)
			if len(n.named()) != 2 {
				t.Fatalf("the disks of %v are named", n.named())
			}
			shows := func(r attachment.Ref, grid roster.GridID) error {
				_, err := n.renew(0, "holder", partition.Claim{Ref: r, Grid: grid, Version: 1})
				return err
			}
			if err := shows(ref(t, "earlier", 8), roster.GridID{9}); (err == nil) != (forgotten != nil) ||
				err != nil && !errors.Is(err, sequencer.ErrDestroyed) {
				t.Errorf("a name of the earlier grid is shown: %v", err)
			}
			if err := shows(ended.ref, roster.GridID{9}); !errors.Is(err, sequencer.ErrDestroyed) {
				t.Errorf("a destroyed name is shown: %v", err)
			}
			if err := shows(ref(t, "own", 7), n.roster.Grid); !errors.Is(err, sequencer.ErrDestroyed) {
				t.Errorf("a name that this grid does not have is shown as its own: %v", err)
			}
		})
	}
}
