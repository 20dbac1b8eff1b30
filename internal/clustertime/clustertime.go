// Package clustertime defines a grid's common time.
//
// A [Timekeeper] computes the next cluster time on the leader, from the voters' clocks. A
// [ClusterTime] follows it in each process by the monotonic clock; [Pace] is its small part that is
// read for each ID. [Beginning], [After] and [Recovered] compute the first timestamp that a new or
// recovered grid may grant.
//
// The package is pure: it reads no clock. The letters in comments (R1, S2) are the rules in
// proof/RULES.md.
package clustertime

import (
	"math/bits"
	"time"
)

// sampleCount is the number of cluster time samples that a process keeps.
const sampleCount = 10

// maxAhead is the maximum lead over its samples at which a process still slews.
const maxAhead = 2 * time.Second

// Nanoseconds are held within these bounds, so that no sum below can overflow:
// cluster time ends in the year 2116, a process after 73 years.
const (
	maxTimeNanos = 1 << 62
	maxMonoNanos = 1 << 61
)

// ninetyNine is 0.99 in units of 2^-64, rounded up so that whole hundreds give whole results.
const ninetyNine = (1<<64)*99/100 + 1

// ClusterTime follows the grid's time on this process's monotonic clock. It is a value; the zero
// value has no time. Each sample produces a new one, to be published as a whole:
//
//	         Sample               Sample: offset = largest of the last ten
//	no time --------> running <--+        anchor = the current time
//	                     +-------+
//
//	time ^            . '  the offset's line: pace 1
//	     |        ..'___   the anchor's line: pace 0.99
//	     |  ___...--       the result is the higher line
//	     +----------------> monotonic clock
//
// A sample is late by its travel time, so its error is always towards an earlier time: the largest
// is the best. If the offset becomes smaller, the time continues from its current value, a
// hundredth slower, until the offset's line has reached it. It steps back only when it is
// [maxAhead] or more ahead: the grid's time then stopped, as when all members were down and
// restarted with clocks that had been stepped back, and a process that slewed would be beyond every
// grant for a hundred times as long. IDs ascend in any case: a generator waits until time has
// reached its last ID.
type ClusterTime struct {
	pace    Pace
	offsets [sampleCount]int64 // ring; sample minus monotonic clock, ns
	count   uint8              // offsets in the ring
	next    uint8              // where the next one goes
}

// Sample takes in that cluster time was at least t when the monotonic clock
// showed mono, and gives the new cluster time. Samples taken in order make it
// step back only over [maxAhead].
func (c ClusterTime) Sample(mono time.Duration, t Tick) ClusterTime {
	m := clamp(int64(mono), maxMonoNanos)
	c.offsets[c.next] = clamp(int64(t), maxTimeNanos/int64(time.Millisecond))*int64(time.Millisecond) - m
	c.next = (c.next + 1) % sampleCount
	c.count = min(c.count+1, sampleCount)
	best := c.offsets[0]
	for _, offset := range c.offsets[1:c.count] {
		best = max(best, offset)
	}
	c.pace = c.pace.anchored(m, best)
	return c
}

// Known reports whether there was a sample.
func (c ClusterTime) Known() bool { return c.pace.known }

// At returns the cluster time at monotonic time mono; 0 without a sample. Callers that need it
// often keep the [Pace] instead.
func (c ClusterTime) At(mono time.Duration) Tick { return c.pace.At(mono) }

// Pace returns the small part that suffices to read the time until the next sample.
func (c ClusterTime) Pace() Pace { return c.pace }

// Pace advances cluster time between two samples. Reading it takes a few nanoseconds and does not
// allocate. The zero value has no time.
type Pace struct {
	known      bool
	offset     int64 // ns to add to the monotonic clock
	anchorMono int64 // ns
	anchorTime int64 // ns, the time at anchorMono
}

// Known reports whether there was a sample.
func (p Pace) Known() bool { return p.known }

// At returns the cluster time at monotonic time mono, rounded down to a tick; 0 without a sample.
// It never returns less for a later mono.
func (p Pace) At(mono time.Duration) Tick {
	if !p.known {
		return 0
	}
	return Tick(p.nanos(clamp(int64(mono), maxMonoNanos)) / int64(time.Millisecond))
}

// Read gives the same as At, and for how long at least it stays so.
func (p Pace) Read(mono time.Duration) (now Tick, lasts time.Duration) {
	if !p.known {
		return 0, 0
	}
	n := p.nanos(clamp(int64(mono), maxMonoNanos))
	return Tick(n / int64(time.Millisecond)), time.Millisecond - time.Duration(n%int64(time.Millisecond))
}

// nanos returns the higher line. It is at least 0, as every anchor is.
func (p Pace) nanos(mono int64) int64 {
	ahead := uint64(max(mono-p.anchorMono, 0))
	slow, _ := bits.Mul64(ahead, ninetyNine)
	return max(mono+p.offset, p.anchorTime+int64(slow))
}

// anchored returns the pace with a new offset that continues from p's time, unless that is too far
// ahead. An anchor never moves back on the monotonic clock: a late sample must not make the time
// run longer from the same point.
func (p Pace) anchored(mono, offset int64) Pace {
	if !p.known {
		return Pace{known: true, offset: offset, anchorMono: mono, anchorTime: mono + offset}
	}
	mono = max(mono, p.anchorMono)
	shown := p.nanos(mono)
	if shown-(mono+offset) > int64(maxAhead) {
		shown = max(mono+offset, 0)
	}
	return Pace{known: true, offset: offset, anchorMono: mono, anchorTime: shown}
}

// clamp holds n within 0 and limit.
func clamp(n, limit int64) int64 { return min(max(n, 0), limit) }
