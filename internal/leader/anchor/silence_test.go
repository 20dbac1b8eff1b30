package anchor

import (
	"testing"
	"time"
)

// TestSilence: silence grows with each answer of one revision, begins again with another one, and has no part of
// the time around a request without an answer.
func TestSilence(t *testing.T) {
	var s Silence
	for i, step := range []struct {
		at       time.Duration
		revision string // "": no answer
		want     time.Duration
	}{
		{5, "a", 0}, {7, "a", 2}, {9, "", 2}, {30, "", 2}, {31, "a", 2}, {34, "a", 5}, {36, "b", 0}, {40, "", 0},
		{50, "c", 0}, {51, "c", 1},
	} {
		if step.revision == "" {
			s.Failed()
		} else {
			s.Answered(step.revision, step.at)
		}
		if got := s.For(step.at); got != step.want {
			t.Errorf("step %d, at %d: %d, want %d", i, step.at, got, step.want)
		}
	}
}
