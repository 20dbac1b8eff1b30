package cycles_test

import (
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/cycles"
)

// TestPace: a millisecond counted by cycles is not longer than one by the clock, and
// hardly shorter.
func TestPace(t *testing.T) {
	for cycles.Calibrate(); cycles.PerMilli() == 0; cycles.Calibrate() {
		if cycles.Useless() {
			t.Skip("this processor's counter has no constant pace")
		}
	}
	const milli = float64(time.Millisecond)
	for range 5 {
		// Whatever comes between the readings makes the outer span longer, not the
		// inner one.
		before, first := time.Now(), cycles.Now()
		inner := time.Now()
		for time.Since(inner) < 20*time.Millisecond {
		}
		innerEnd := time.Since(inner)
		last := cycles.Now()
		outer := time.Since(before)
		counted := float64(last-first) / float64(cycles.PerMilli()) * milli
		if counted < float64(innerEnd) || counted > float64(outer)*1.01 {
			t.Errorf("%v to %v by the clock, %v by cycles", innerEnd, outer, time.Duration(counted))
		}
	}
}
