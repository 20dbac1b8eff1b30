package cycles

import (
	"sync"
	"time"
)

// Constant reports whether the processor says that the counter has a constant pace.
var Constant = sync.OnceValue(invariant)

const (
	// apart is how far apart two readings are at least, so that what a reading
	// may be off by is small against it, and atMost how far at most: a machine
	// that was suspended stops one of the two.
	apart  = 20 * time.Millisecond
	atMost = 10 * time.Second
	// kept is how many paces are remembered.
	kept = 16
	// enough is how many it takes: a reading that was interrupted makes the pace
	// before it too slow and the one after it too fast.
	enough = 2
	// slack is taken off, in parts of the pace: a clock may run a hundredth slower
	// for a time, and a millisecond counted by cycles must not end late.
	slack = 80
)

// Pace is how many cycles a millisecond of some clock has. The zero value knows nothing
// yet. It is not safe for concurrent use.
type Pace struct {
	at     time.Duration // by the clock
	cycles int64
	known  bool
	paces  [kept]int64 // cycles a millisecond between the last readings
	n      int         // how many there were
}

// Reading takes in that the counter showed n when the clock showed at.
func (p *Pace) Reading(n int64, at time.Duration) {
	elapsed := at - p.at
	switch {
	case !p.known, elapsed < 0, elapsed > atMost:
	case n <= p.cycles:
		p.note(0) // it went back
	case elapsed < apart:
		return
	default:
		pace := int64(float64(n-p.cycles) / float64(elapsed) * float64(time.Millisecond))
		p.note(pace - pace/slack)
	}
	p.known, p.at, p.cycles = true, at, n
}

func (p *Pace) note(pace int64) {
	p.paces[p.n%kept] = pace
	p.n++
}

// PerMilli returns how many cycles a millisecond has at least, by the slowest of the
// last readings: where the clock ran ahead of the counter, it may do so again. It is 0
// while nothing is known, and after the counter went back. It means something only
// where the counter is [Constant].
func (p *Pace) PerMilli() int64 {
	if p.n < enough {
		return 0
	}
	least := p.paces[0]
	for _, pace := range p.paces[:min(p.n, kept)] {
		least = min(least, pace)
	}
	return least
}
