package api

import (
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// delayFor is the validity of a queue delay measurement.
	delayFor = 50 * time.Millisecond
	// delaysMin is the minimum number of waits for a measurement.
	delaysMin = 32
)

// queueDelay measures the wait of a runnable goroutine for a processor: the median since the last
// measurement. The runtime counts these times anyway, so a member without requests spends nothing on
// them. The zero value is ready.
type queueDelay struct {
	at     atomic.Int64 // Unix ns of the last measurement
	median atomic.Int64 // ns

	mu     sync.Mutex // guards the fields below
	sample []metrics.Sample
	before []uint64
}

// now returns the queue delay, measured at most delayFor before.
func (q *queueDelay) now() time.Duration {
	if time.Duration(time.Now().UnixNano()-q.at.Load()) > delayFor && q.mu.TryLock() {
		q.measure()
		q.at.Store(time.Now().UnixNano())
		q.mu.Unlock()
	}
	return time.Duration(q.median.Load())
}

// measure reads the runtime's counts. mu must be held.
func (q *queueDelay) measure() {
	if q.sample == nil {
		q.sample = []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	}
	metrics.Read(q.sample)
	if q.sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return
	}
	h := q.sample[0].Value.Float64Histogram()
	if q.before != nil {
		q.median.Store(int64(medianSince(q.before, h.Counts, h.Buckets)))
	}
	q.before = append(q.before[:0], h.Counts...)
}

// medianSince returns the median of the values that a histogram has more than before, 0 if these
// are few.
func medianSince(before, counts []uint64, buckets []float64) time.Duration {
	var all, below uint64
	for i, n := range counts {
		all += n - before[i]
	}
	if all < delaysMin {
		return 0
	}
	for i, n := range counts {
		if below += n - before[i]; 2*below >= all {
			return time.Duration(max(buckets[i], 0) * float64(time.Second)) // the lower bound of the bucket
		}
	}
	return 0
}
