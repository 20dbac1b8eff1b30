package grid

import (
	"testing"

	"github.com/snowgrid/snowgrid/partition"
)

// TestJoinReplacesOnlyTheOneAsked: a request to join counts against the incarnation
// that did not answer when it was made, and against no other of the same member.
func TestJoinReplacesOnlyTheOneAsked(t *testing.T) {
	other := testMember('e')
	member := testMember('a').Member()
	crashed, copied, newcomer := partition.Incarnation(member+"-0000000000000001"), partition.Incarnation(member+"-0000000000000002"), partition.Incarnation(member+"-0000000000000003")
	for name, c := range map[string]struct {
		members []partition.Incarnation
		instead partition.Incarnation
		dropped bool
	}{
		"no other registered":      {[]partition.Incarnation{other}, "", false},
		"it is registered":         {[]partition.Incarnation{newcomer}, crashed, false},
		"the one that was asked":   {[]partition.Incarnation{crashed, other}, crashed, false},
		"another one by now":       {[]partition.Incarnation{copied, other}, crashed, true},
		"one where there was none": {[]partition.Incarnation{copied}, "", true},
	} {
		r := &partition.Roster{}
		for _, i := range c.members {
			r.Members = append(r.Members, partition.Member{Incarnation: i})
		}
		j := joining{member: partition.Member{Incarnation: newcomer}, instead: c.instead}
		if got := j.replaces(r); got != c.dropped {
			t.Errorf("%s: dropped %v, want %v", name, got, c.dropped)
		}
	}
}
