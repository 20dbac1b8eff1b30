package grid

import (
	"fmt"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// TestSignsOfAMemberAreBounded: in number and in what is remembered of them.
func TestSignsOfAMemberAreBounded(t *testing.T) {
	var r recent
	now, taken := time.Hour, 0
	for range 100 {
		if r.note("a", now) {
			taken++
		}
		now += signEvery / 25
	}
	if taken != 4 {
		t.Errorf("%d signs were taken in within four times %v", taken, signEvery)
	}
	if !r.note("b", now) {
		t.Error("a sign of another member was not taken in")
	}
	for i := range 1000 {
		now += signEvery / 100
		r.note(roster.Incarnation(fmt.Sprint(i)), now)
	}
	if len(r.last) > 101 {
		t.Errorf("%d members are remembered", len(r.last))
	}
}
