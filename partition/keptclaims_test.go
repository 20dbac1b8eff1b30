package partition_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// reset begins the time of another claim of the grid's anchor, by the first member.
func (n *machines) reset(claim string) {
	n.t.Helper()
	n.apply(roster.Command{From: n.roster.Version, Reset: &roster.Reset{
		Claim: roster.Claim(strings.Repeat(claim, 32)), Found: n.roster.Ceiling, Leader: n.members[0].record(),
	}})
}

// TestKeptNamesOfAnEarlierClaim: in an anchored grid whose voters keep definitions, a holder
// under an earlier claim cannot bring a destroyed name back, with a grant or with none (simulation
// of anchored grids, seeds 14 and 27). A holder of an earlier grid, whose grant ended before this
// one began, still can. One without a grant can until the grid is reset.
func TestKeptNamesOfAnEarlierClaim(t *testing.T) {
	n := newMachines(t, false, false, false)
	began := n.roster.Began
	n.reset("a")
	n.lose(0)
	n.voters(0, 1, 2)
	n.run()
	gone := n.create(0, "gone")
	n.run()
	gone.is(true, nil)
	first := n.roster.Identity()
	shown := func(r attachment.Ref, grid roster.GridID, until clustertime.Tick) partition.Claim {
		return partition.Claim{Ref: r, Grid: grid, Version: n.roster.Version, Until: until}
	}
	if replied, err := n.renew(0, "holder", shown(ref(t, "idle", 9), roster.GridID{9}, 0)); !replied || err != nil {
		t.Errorf("a handle of an earlier grid, before a reset: %v", err)
	}
	end := n.destroy(0, "gone")
	n.tick(partition.TickEvery)
	n.run()
	end.is(true, nil)

	n.reset("b")
	n.lose(1)
	n.learn(n.all()...)
	n.tick(2 * partition.TickEvery)
	n.run()
	if !n.members[1].machine.Table().Complete() {
		t.Fatal("the definitions were not collected")
	}
	for what, c := range map[string]partition.Claim{
		"without a grant":             shown(gone.ref, first, 0),
		"with a grant from the start": shown(gone.ref, first, began),
		"with a grant":                shown(gone.ref, first, began+1),
	} {
		if replied, err := n.renew(1, "holder", c); !replied || !errors.Is(err, sequencer.ErrDestroyed) {
			t.Errorf("a destroyed name is shown %s: %v", what, err)
		}
	}
	if replied, err := n.renew(1, "holder", shown(ref(t, "earlier", 8), roster.GridID{9}, began-1)); !replied ||
		err != nil {
		t.Errorf("a name of an earlier grid is shown: %v", err)
	}
	after := n.open(1, "gone")
	n.run()
	after.is(true, sequencer.ErrNotFound)
}
