package grid

import (
	"slices"
	"testing"
	"time"
)

// TestVoterClocksEnd: the newest reading of each clock counts, until it is too old or
// another member leads.
func TestVoterClocksEnd(t *testing.T) {
	var c voterClocks
	c.note("b", time.Second, time.Second)
	c.note("a", time.Minute, time.Second)
	c.note("a", 2*time.Second, 3*time.Second)
	if got, want := c.read(4*time.Second),
		[]VoterClock{{"a", 2 * time.Second}, {"b", time.Second}}; !slices.Equal(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
	if got, want := c.read(time.Second+voterClocksAge+1), []VoterClock{{"a", 2 * time.Second}}; !slices.Equal(got, want) {
		t.Errorf("later read %v, want %v", got, want)
	}
	c.forget()
	if got := c.read(4 * time.Second); len(got) > 0 {
		t.Errorf("read %v of another lead", got)
	}
}
