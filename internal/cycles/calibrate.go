package cycles

import (
	"sync"
	"sync/atomic"
	"time"
)

// perMilli is how many cycles a millisecond has at least, 0 while that is not known
// or the counter has no constant pace.
var perMilli atomic.Int64

// PerMilli returns how many cycles a millisecond has at least: a thousandth less than
// measured, so that a millisecond counted by cycles ends early and never late. It is 0
// until [Calibrate] has found out, and for good where the counter has no constant pace.
func PerMilli() int64 { return perMilli.Load() }

// Useless reports whether the counter was found to have no constant pace.
func Useless() bool {
	calibration.Lock()
	defer calibration.Unlock()
	return calibration.useless
}

// calibration finds perMilli from two readings of the counter and the clock.
var calibration struct {
	sync.Mutex
	useless bool
	cycles  int64
	at      time.Time
}

const (
	// calibrateOver is how far apart the two readings are at least, so that what
	// a reading may be off by is small against it.
	calibrateOver = 20 * time.Millisecond
	// calibrateWithin is how far apart they may be: a suspended machine stops one of
	// the two.
	calibrateWithin = 10 * time.Second
	// readingMax is how long a reading of both may take to be a good one.
	readingMax = 5 * time.Microsecond
)

// Calibrate takes one more reading, until the pace is known. It is to be called now
// and then by whoever uses the counter; it takes two calls, 20 ms to 10 s apart.
func Calibrate() {
	c := &calibration
	if !c.TryLock() {
		return
	}
	defer c.Unlock()
	if c.useless || perMilli.Load() > 0 {
		return
	}
	if !invariant() {
		c.useless = true
		return
	}
	before := time.Now()
	n := Now()
	if time.Since(before) > readingMax {
		return // something came between
	}
	elapsed := before.Sub(c.at)
	switch {
	case c.at.IsZero(), elapsed > calibrateWithin:
		c.cycles, c.at = n, before
	case elapsed < calibrateOver:
	case n <= c.cycles:
		c.useless = true // it goes back
	default:
		rate := float64(n-c.cycles) / float64(elapsed) * float64(time.Millisecond)
		perMilli.Store(int64(rate * 0.999))
	}
}
