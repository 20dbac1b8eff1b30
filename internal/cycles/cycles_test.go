package cycles_test

import (
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/cycles"
)

// TestPace: what is counted by cycles is not longer than by the clock, and a pace that
// nothing came between is hardly too slow.
func TestPace(t *testing.T) {
	if !cycles.Constant() {
		t.Skip("this processor's counter has no constant pace: there is nothing to measure")
	}
	best := 0.0
	for try := 0; try < 20 && best < 0.95; try++ {
		p := measured()
		// Whatever comes between the readings makes the outer span longer, and not
		// the inner one.
		before, first := time.Now(), cycles.Now()
		inner := time.Now()
		for time.Since(inner) < 20*time.Millisecond {
		}
		innerEnd := time.Since(inner)
		last := cycles.Now()
		outer := time.Since(before)
		counted := float64(last-first) / float64(p.PerMilli()) * float64(time.Millisecond)
		if counted < float64(innerEnd) {
			t.Errorf("%v to %v by the clock, %v by cycles", innerEnd, outer, time.Duration(counted))
		}
		best = max(best, float64(outer)/counted)
	}
	if best < 0.95 {
		t.Errorf("the best pace of 20 counts %.2f of a millisecond as one", best)
	}
}

// measured is a pace by the monotonic clock.
func measured() (p cycles.Pace) {
	for began := time.Now(); p.PerMilli() == 0; {
		p.Reading(cycles.Now(), time.Since(began))
	}
	return p
}

// TestReadings: the slowest of the last readings counts, and what cannot be.
func TestReadings(t *testing.T) {
	type reading struct {
		cycles int64
		at     time.Duration
	}
	const ms = time.Millisecond
	steady := func(from int64, n int) (out []reading) {
		for i := range n {
			out = append(out, reading{from + int64(i)*80_000, time.Duration(from)/1000*ms + time.Duration(i)*20*ms})
		}
		return out
	}
	for what, c := range map[string]struct {
		readings []reading
		want     int64
	}{
		"nothing":               {nil, 0},
		"one":                   {[]reading{{1, 0}}, 0},
		"4,000 a millisecond":   {[]reading{{0, 0}, {80_000, 20 * ms}, {160_000, 40 * ms}}, 3950},
		"two":                   {[]reading{{0, 0}, {80_000, 20 * ms}}, 0},
		"too soon":              {[]reading{{0, 0}, {40_000, 10 * ms}}, 0},
		"the slower of two":     {[]reading{{0, 0}, {80_000, 20 * ms}, {120_000, 40 * ms}}, 1975},
		"the clock went back":   {[]reading{{0, 50 * ms}, {80_000, 20 * ms}, {160_000, 40 * ms}, {240_000, 60 * ms}}, 3950},
		"it was suspended":      {[]reading{{0, 0}, {80_000, time.Hour}, {160_000, time.Hour + 20*ms}, {240_000, time.Hour + 40*ms}}, 3950},
		"the counter goes back": {[]reading{{80_000, 0}, {0, 20 * ms}, {80_000, 40 * ms}}, 0},
		"that was long ago":     {append([]reading{{80_000, 0}, {0, 20 * ms}}, steady(80_000, 18)...), 3950},
	} {
		var p cycles.Pace
		for _, r := range c.readings {
			p.Reading(r.cycles, r.at)
		}
		if got := p.PerMilli(); got != c.want {
			t.Errorf("%s: %d cycles a millisecond, want %d", what, got, c.want)
		}
	}
}
