package grid

import (
	"testing"

	"github.com/snowgrid/snowgrid/roster"
)

// TestJoinReplacesOnlyTheOneAsked: a request to join counts against the incarnation
// that did not answer when it was made, and against no other of the same member.
func TestJoinReplacesOnlyTheOneAsked(t *testing.T) {
	other := testMember('e')
	member := testMember('a').Member()
	crashed, copied, newcomer := roster.Incarnation(member+"-0000000000000001"), roster.Incarnation(member+"-0000000000000002"), roster.Incarnation(member+"-0000000000000003")
	for name, c := range map[string]struct {
		members []roster.Incarnation
		instead roster.Incarnation
		dropped bool
	}{
		"no other registered":      {[]roster.Incarnation{other}, "", false},
		"it is registered":         {[]roster.Incarnation{newcomer}, crashed, false},
		"the one that was asked":   {[]roster.Incarnation{crashed, other}, crashed, false},
		"another one by now":       {[]roster.Incarnation{copied, other}, crashed, true},
		"one where there was none": {[]roster.Incarnation{copied}, "", true},
	} {
		r := &roster.Roster{}
		for _, i := range c.members {
			r.Members = append(r.Members, roster.Member{Incarnation: i})
		}
		j := joining{member: roster.Member{Incarnation: newcomer}, instead: c.instead}
		if got := j.replaces(r); got != c.dropped {
			t.Errorf("%s: dropped %v, want %v", name, got, c.dropped)
		}
	}
}
