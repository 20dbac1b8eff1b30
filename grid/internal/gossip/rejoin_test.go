package gossip

import (
	"slices"
	"testing"
	"time"
)

// TestAbsentMembersAreOverdueAfterPatience: a member counts from when it was first absent, and
// anew after it was seen.
func TestAbsentMembersAreOverdueAfterPatience(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	unseen := absences{}
	for _, c := range []struct {
		after  time.Duration
		absent []string
		want   []string
	}{
		{0, []string{"a"}, nil},
		{patience - 1, []string{"a", "b"}, nil},
		{patience, []string{"a", "b"}, []string{"a"}},
		{2 * patience, []string{"a", "b"}, []string{"a", "b"}},
		{2*patience + 1, []string{"b"}, []string{"b"}}, // a is seen
		{2*patience + 2, []string{"a"}, nil},
		{3*patience + 1, []string{"a"}, nil},
		{3*patience + 2, []string{"a"}, []string{"a"}},
		{3*patience + 3, nil, nil},
	} {
		if got := unseen.note(c.absent, start.Add(c.after)); !slices.Equal(got, c.want) {
			t.Errorf("after %v: %v are overdue, want %v", c.after, got, c.want)
		}
		if len(unseen) != len(c.absent) {
			t.Errorf("after %v: %v are noted, want %v", c.after, unseen, c.absent)
		}
	}
}
