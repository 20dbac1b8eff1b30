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

// Read returns the count of all durations so far, their sum, and by ascending bound how many were at most
// UpTo. Of a nil histogram all are zero.
func Read[B ~struct {
	UpTo  time.Duration
	Count uint64
}](h *Histogram) (count uint64, sum time.Duration, buckets []B) {
	if h == nil {
		return 0, 0, nil
	}
	for i, bound := range bounds {
		count += h.buckets[i].Load()
		buckets = append(buckets, B{UpTo: bound, Count: count})
	}
	count += h.buckets[len(bounds)].Load()
	return count, time.Duration(h.sum.Load()), buckets
}
