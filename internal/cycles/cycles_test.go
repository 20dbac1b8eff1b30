package cycles_test

import (
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/cycles"
)

// TestPace: a time measured in cycles is not longer than by the clock, and an undisturbed
// pace is hardly too slow.
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
		r := cycles.Reading{Before: cycles.Now(), At: time.Since(began)}
		r.After = cycles.Now()
		p.Note(r)
	}
	return p
}

// TestReadings: the slowest of the last readings counts, what cannot be does, and what
// was interrupted does not.
func TestReadings(t *testing.T) {
	const ms = time.Millisecond
	at := func(cycles int64, at time.Duration) reading { return reading{cycles, 20, at} }
	wide := func(cycles int64, at time.Duration) reading { return reading{cycles, 4000, at} }
	steady := func(from int64, n int) (out []reading) {
		for i := range n {
			out = append(out, at(from+int64(i)*80_000, time.Duration(from)/1000*ms+time.Duration(i)*20*ms))
		}
		return out
	}
	for what, c := range map[string]struct {
		readings []reading
		want     int64
	}{
		"nothing":             {nil, 0},
		"one":                 {[]reading{at(1, 0)}, 0},
		"4,000 a millisecond": {[]reading{at(0, 0), at(80_000, 20*ms), at(160_000, 40*ms)}, 3950},
		"two":                 {[]reading{at(0, 0), at(80_000, 20*ms)}, 0},
		"too soon":            {[]reading{at(0, 0), at(40_000, 10*ms)}, 0},
		"the slower of two":   {[]reading{at(0, 0), at(80_000, 20*ms), at(120_000, 40*ms)}, 1975},
		"the clock went back": {[]reading{at(0, 50*ms), at(80_000, 20*ms), at(160_000, 40*ms),
			at(240_000, 60*ms)}, 3950},
		"it was suspended": {[]reading{at(0, 0), at(80_000, time.Hour), at(160_000, time.Hour+20*ms),
			at(240_000, time.Hour+40*ms)}, 3950},
		"the counter goes back":  {[]reading{at(80_000, 0), at(0, 20*ms), at(80_000, 40*ms)}, 0},
		"that was long ago":      {append([]reading{at(80_000, 0), at(0, 20*ms)}, steady(80_000, 18)...), 3950},
		"steady for two seconds": {steady(0, 101), 3998},
		"and then slower":        {append(steady(0, 101), at(101*80_000-40_000, 101*20*ms)), 1999},
		"not yet steady":         {steady(0, 100), 3950},
		"steady, and it goes back": {append(steady(0, 101), append([]reading{at(0, 102*20*ms)}, steady(80_000, 18)...)...),
			3950},
		"one was interrupted":     {[]reading{at(0, 0), at(80_000, 20*ms), wide(120_000, 40*ms), at(160_000, 40*ms)}, 3950},
		"the first was":           {[]reading{wide(0, 10*ms), at(4000, ms), at(84_000, 21*ms), at(164_000, 41*ms)}, 3950},
		"all of them were":        {[]reading{wide(0, 0), wide(80_000, 20*ms), wide(160_000, 40*ms)}, 3950},
		"the counter hardly runs": {[]reading{{0, 0, 0}, {80_000, 60, 20 * ms}, {160_000, 1, 40 * ms}}, 3950},
	} {
		var p cycles.Pace
		for _, r := range c.readings {
			p.Note(cycles.Reading{Before: r.cycles, After: r.cycles + r.width, At: r.at})
		}
		if got := p.PerMilli(); got != c.want {
			t.Errorf("%s: %d cycles a millisecond, want %d", what, got, c.want)
		}
	}
}

// reading is a look at a clock that took so many cycles.
type reading struct {
	cycles, width int64
	at            time.Duration
}
