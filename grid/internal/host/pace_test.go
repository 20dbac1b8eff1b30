package host

import (
	"testing"
	"time"
)

// TestPaceOf: the next renewal is wanted after half a window at the latest.
func TestPaceOf(t *testing.T) {
	for stretch, want := range map[float64]int64{0: 0, 0.5: 5625, 1: 7500} {
		if got := paceOf(15*time.Second, stretch); got != want {
			t.Errorf("stretched by %v: %d ms, want %d", stretch, got, want)
		}
	}
}
