package main

import (
	"math"
	"math/bits"
	"time"
)

// fineBits is the number of bits below the highest set bit that a bucket distinguishes. So a
// bucket is at most a 32nd as wide as its values.
const fineBits = 5

// buckets is the number of buckets for all durations.
const buckets = (65 - fineBits) << fineBits

// histogram counts durations, so that percentiles need not keep every value. Its zero value is
// empty.
type histogram struct {
	counts  [buckets]uint64
	count   uint64
	longest time.Duration
}

// bucketOf returns the bucket for a duration in ns. Up to 63 each has its own.
func bucketOf(ns uint64) int {
	shift := max(bits.Len64(ns)-fineBits-1, 0)
	return shift<<fineBits + int(ns>>shift)
}

// endOf returns the longest duration, in ns, in a bucket.
func endOf(bucket int) uint64 {
	shift := max(bucket>>fineBits-1, 0)
	return (uint64(bucket-shift<<fineBits)+1)<<shift - 1
}

// add counts a duration; one below 0 counts as 0.
func (h *histogram) add(d time.Duration) {
	h.counts[bucketOf(uint64(max(d, 0)))]++
	h.count++
	h.longest = max(h.longest, d)
}

// merge adds another histogram's counts.
func (h *histogram) merge(o *histogram) {
	for i, n := range o.counts {
		h.counts[i] += n
	}
	h.count += o.count
	h.longest = max(h.longest, o.longest)
}

// percentile returns a duration that the share q of all values does not exceed, at most a 32nd too
// long. It is 0 for an empty histogram.
func (h *histogram) percentile(q float64) time.Duration {
	rank := max(uint64(math.Ceil(q*float64(h.count))), 1)
	var seen uint64
	for i, n := range h.counts {
		if seen += n; seen >= rank {
			return min(time.Duration(endOf(i)), h.longest)
		}
	}
	return h.longest
}
