// Package measure counts what happens in a process, for its metrics. It knows no
// metrics library: package metrics makes series of its values.
package measure

import (
	"math"
	"sync/atomic"
	"time"
)

// bounds are the upper bounds of the buckets of every histogram: from a local call to a call
// that is given up.
var bounds = [...]time.Duration{
	250 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second,
}

// Histogram is the distribution of durations. Its zero value is empty and ready. It may be
// used from any goroutine.
type Histogram struct {
	buckets [len(bounds) + 1]atomic.Uint64 // the last one is above all bounds
	sum     atomic.Int64                   // ns
}

// Observe counts a duration; a negative one counts as 0.
func (h *Histogram) Observe(d time.Duration) {
	d = max(d, 0)
	i := 0
	for i < len(bounds) && d > bounds[i] {
		i++
	}
	h.buckets[i].Add(1)
	if h.sum.Add(int64(d)) < 0 {
		h.sum.Store(math.MaxInt64) // after 292 years
	}
}

// Read returns the distribution so far.
func (h *Histogram) Read() Distribution {
	out := Distribution{Buckets: make([]Bucket, len(bounds))}
	for i := range bounds {
		out.Count += h.buckets[i].Load()
		out.Buckets[i] = Bucket{UpTo: bounds[i], Count: out.Count}
	}
	out.Count += h.buckets[len(bounds)].Load()
	out.Sum = time.Duration(h.sum.Load())
	return out
}

// Distribution is a reading of a [Histogram].
type Distribution struct {
	Count   uint64        // durations
	Sum     time.Duration // all of them together
	Buckets []Bucket      // by ascending bound
}

// Bucket is how many durations were at most UpTo.
type Bucket struct {
	UpTo  time.Duration
	Count uint64
}
