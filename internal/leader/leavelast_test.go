package leader

import (
	"slices"
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// TestLeaderOfAnAnchorLeavesLast: where all members of an anchored grid leave, its leader leaves the
// roster after the others. It would take the record to remove them, which makes it a member again.
func TestLeaderOfAnAnchorLeavesLast(t *testing.T) {
	o := anchoredLead(t, 3, true, true)
	for _, i := range []int{2, 3} {
		o.apply(roster.Command{From: o.v.Roster.Version, Claim: claim1,
			Change: &roster.Change{Join: []roster.Member{record(i, true)}}})
	}
	o.v.Leaving = true
	parts := func() bool {
		return slices.Contains(o.l.succession.parting(o.v, o.l.admission.leavers(o.v), o.l.anchoring.machine != nil),
			inc(1, 1))
	}
	o.v.Peers[1].Leaving, o.l.admission.leaves[inc(3, 1)] = true, true
	if parts() {
		t.Error("it leaves before two others that leave")
	}
	o.apply(roster.Command{From: o.v.Roster.Version, Claim: claim1,
		Change: &roster.Change{Remove: []roster.Incarnation{inc(3, 1)}}})
	if parts() {
		t.Error("it leaves before another one that leaves")
	}
	o.v.Peers = o.v.Peers[:1] // gossip sees the end of the other
	if !parts() {
		t.Error("it waits for a member that has ended")
	}
}

// TestLeaderOfAnAnchorLeavesBesideOneThatStays: where the lead could not be passed on, it does not wait
// for a member that stays.
func TestLeaderOfAnAnchorLeavesBesideOneThatStays(t *testing.T) {
	o := anchoredLead(t, 2, true, true)
	o.apply(roster.Command{From: o.v.Roster.Version, Claim: claim1,
		Change: &roster.Change{Join: []roster.Member{record(2, true)}}})
	o.v.Leaving, o.l.succession.yielded = true, true
	if !slices.Contains(o.l.succession.parting(o.v, o.l.admission.leavers(o.v), o.l.anchoring.machine != nil), inc(1, 1)) {
		t.Error("it waits for a member that stays")
	}
}
