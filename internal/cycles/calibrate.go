package cycles

import (
	"sync"
	"time"
)

// Constant reports whether the processor says that the counter has a constant pace.
var Constant = sync.OnceValue(invariant)

const (
	// apart is the minimum distance of two readings, so that the error of a reading is
	// small in comparison, and atMost the maximum: a suspended machine stops one of the
	// two clocks.
	apart  = 20 * time.Millisecond
	atMost = 10 * time.Second
	// kept is how many paces are remembered.
	kept = 16
	// enough is how many it takes.
	enough = 2
	// widest is how many times as wide as the narrowest reading one may be, and wider
	// by a little for counters that hardly count in between: what interrupts a reading
	// takes far longer.
	widest, little = 4, 64
	// slack is taken off, in parts of the pace: a clock may run a hundredth slower
	// for a time, and a millisecond counted by cycles must not end late. After steadyAfter
	// paces without a break, which take two seconds or more, steadySlack is: the slowest of
	// the last ones is well known then.
	slack, steadySlack = 80, 2000
	steadyAfter        = 100
)

// Pace is how many cycles a millisecond of some clock has. The zero value knows nothing
// yet. It is not safe for concurrent use.
type Pace struct {
	last   Reading
	known  bool
	narrow int64       // the narrowest reading
	paces  [kept]int64 // cycles a millisecond between the last readings
	n      int         // how many there were
	steady int         // how many since the counter went back
}

// Reading is a look at the clock between two at the counter.
type Reading struct {
	Before, After int64         // readings of the counter
	At            time.Duration // reading of the clock
}

// Note takes in a reading, and reports whether that changed the pace.
func (p *Pace) Note(r Reading) bool {
	elapsed := r.At - p.last.At
	if p.known && r.Before < p.last.Before {
		p.note(0) // the counter went back
		p.last, p.steady = r, 0
		return p.Known()
	}
	width := r.After - r.Before
	if !p.known || width < p.narrow {
		p.narrow = width
	}
	noted := false
	switch {
	case width < 0, width > widest*p.narrow+little:
		return false // something came between
	case !p.known, elapsed < 0, elapsed > atMost, p.last.After-p.last.Before > widest*p.narrow+little:
	case elapsed < apart:
		return false
	default:
		noted = true
		pace := int64(float64(r.Before-p.last.Before) / float64(elapsed) * float64(time.Millisecond))
		p.note(pace)
	}
	p.known, p.last = true, r
	return noted && p.Known()
}

func (p *Pace) note(pace int64) {
	p.paces[p.n%kept] = pace
	p.n++
	p.steady++
}

// Known reports whether there were enough readings to tell a pace.
func (p *Pace) Known() bool { return p.n >= enough }

// PerMilli returns how many cycles a millisecond has at least, by the slowest of the
// last readings: where the clock ran ahead of the counter, it may do so again. It is 0
// while nothing is known, and after the counter went back. It means something only
// where the counter is [Constant].
func (p *Pace) PerMilli() int64 {
	if !p.Known() {
		return 0
	}
	least := p.paces[0]
	for _, pace := range p.paces[:min(p.n, kept)] {
		least = min(least, pace)
	}
	if p.steady >= steadyAfter {
		return least - least/steadySlack
	}
	return least - least/slack
}
