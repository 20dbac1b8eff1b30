package leader

import (
	"slices"
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// TestLeaderOfAnAnchorLeavesLast: where all members of an anchored grid leave, its leader leaves the
// roster after the others, and not as the last one. It would take the record to remove them or to serve, which makes
// it a member again.
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
		t.Error("it leaves before the other leaver")
	}
	o.v.Peers = o.v.Peers[:1] // gossip sees the end of the other, which is still a member
	if parts() {
		t.Error("it leaves without a successor")
	}
}

// TestLeaderOfAnAnchorLeavesBesideOneThatStays: where the lead could not be passed on, it does not wait
// for a voter that stays. It waits until a staying member is a voter.
func TestLeaderOfAnAnchorLeavesBesideOneThatStays(t *testing.T) {
	for members, want := range map[int]bool{3: true, 2: false} { // of two, one is a voter
		o := anchoredLead(t, members, true, true)
		o.apply(roster.Command{From: o.v.Roster.Version, Claim: claim1,
			Change: &roster.Change{Join: []roster.Member{record(2, true)}}})
		o.v.Leaving, o.l.succession.yielded = true, true
		if got := slices.Contains(o.l.succession.parting(o.v, o.l.admission.leavers(o.v), o.l.anchoring.machine != nil),
			inc(1, 1)); got != want {
			t.Errorf("%d members: it leaves %v, want %v", members, got, want)
		}
	}
}

// TestLeaderOfAnAnchorLeavesAfterAnother: beside a voter that stays, it leaves after another member that leaves, which
// it has to remove.
func TestLeaderOfAnAnchorLeavesAfterAnother(t *testing.T) {
	o := anchoredLead(t, 3, true, true)
	for _, i := range []int{2, 3} {
		o.apply(roster.Command{From: o.v.Roster.Version, Claim: claim1,
			Change: &roster.Change{Join: []roster.Member{record(i, true)}}})
	}
	o.v.Leaving, o.l.succession.yielded, o.v.Peers[1].Leaving = true, true, true
	parts := func() bool {
		return slices.Contains(o.l.succession.parting(o.v, o.l.admission.leavers(o.v), true), inc(1, 1))
	}
	if parts() {
		t.Error("it leaves before another one that leaves")
	}
	o.apply(roster.Command{From: o.v.Roster.Version, Claim: claim1,
		Change: &roster.Change{Remove: []roster.Incarnation{inc(2, 1)}}})
	if !parts() {
		t.Error("it waits for a member that has left")
	}
}
