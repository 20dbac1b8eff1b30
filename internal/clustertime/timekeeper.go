package clustertime

import (
	"fmt"
	"math/bits"
	"slices"
	"time"
)

// The jump ahead of cluster time beyond which the leader waits for agreement between the voters'
// clocks, and the required duration of the agreement (R1).
const (
	JumpLimit     Span = 600_000
	JumpAgreement      = 60 * time.Second
)

// A wall clock outside these bounds is refused at start (R1). No preset epoch ends later, and
// cluster time ends in 2116.
const (
	earliestClock Tick = 1_767_225_600_000 // 2026-01-01T00:00:00Z
	latestClock   Tick = 4_102_444_800_000 // 2100-01-01T00:00:00Z
	// longestStop is the longest time after its last one at which a grid may start again.
	longestStop Span = 20 * 365 * 24 * 3_600_000
)

// CheckClock refuses, with an [ErrClock], a wall clock that cannot be right: one before 2026 or
// after 2099.
func CheckClock(now Tick) error {
	if now >= earliestClock && now <= latestClock {
		return nil
	}
	return fmt.Errorf("%w: it shows %s, not a time from 2026 to 2099; set this machine's clock and start again",
		ErrClock, text(now))
}

// CheckClockAfter returns an [ErrClock] if a wall clock is twenty years ahead of the last time in
// the grid's data, 0 for none: a grid with one member would follow it.
func CheckClockAfter(now, last Tick) error {
	if last <= 0 || now.Sub(last) <= longestStop {
		return nil
	}
	return fmt.Errorf(
		"%w: it shows %s, more than 20 years after the last time of this grid, %s; set this machine's clock and start again",
		ErrClock, text(now), text(last))
}

// Timekeeper is the leader's rule for moving cluster time (R1). The zero value is a newly elected
// leader's.
//
//	         jump > 10 min              60 s of it
//	follow -----------------> hold ------------------> follow, jumped
//	   ^                       |
//	   +-----------------------+
//	    no jump, or no majority
type Timekeeper struct {
	prev   Tick          // the cluster time at the last raise if a jump was held in the last round, else 0
	since  time.Duration // ... how long ago that raise was then
	agreed time.Duration // ... and for how long the jump had been seen
	rest   time.Duration // time below a tick that ran without the clocks
}

// Verdict explains a step in cluster time, for the leader's log.
type Verdict struct {
	Majority bool          // enough voters reported their clocks
	Behind   Span          // how far their median is behind cluster time, 0 if it is not
	Jump     Span          // how far their median is ahead, if over JumpLimit; else 0
	Held     bool          // the jump is not followed yet
	Agreed   time.Duration // for how long the jump has been seen
}

// Next returns the next cluster time: the lower median of the voters' clocks if a majority reported
// them and it is ahead; else prev, advanced by 0.99 of the monotonic time since the last call. A
// jump over [JumpLimit] is followed only after [JumpAgreement] of rounds that all contain one. A
// clock's jump is its distance beyond prev plus the whole elapsed time: the slower pace does not
// come from the clocks, and a grid may lack a majority for days.
//
// prev is the cluster time at the last raise. It is 0 when no cluster time runs, at the start of a
// grid or the restart of a whole one: the median is then followed immediately, since the time for
// which a grid was stopped is not a jump, and without a majority the result is 0, which must not be
// proposed.
func (k Timekeeper) Next(prev Tick, elapsed time.Duration, clocks []Tick, voters int) (Tick, Timekeeper, Verdict) {
	onward, rest := k.advance(prev, elapsed)
	alone := Timekeeper{rest: rest}
	if voters < 1 || len(clocks) <= voters/2 {
		return onward, alone, Verdict{}
	}
	median := lowerMedian(clocks)
	if median <= onward {
		return onward, alone, Verdict{Majority: true, Behind: onward.Sub(median)}
	}
	jump := median.Sub(max(onward, prev.Add(SpanOf(elapsed))))
	if prev == 0 || jump <= JumpLimit {
		return median, Timekeeper{}, Verdict{Majority: true}
	}
	if k.prev > 0 {
		k.agreed += max(elapsed-k.counted(prev), 0)
	}
	verdict := Verdict{Majority: true, Jump: jump, Agreed: k.agreed}
	if k.agreed >= JumpAgreement {
		return median, Timekeeper{}, verdict
	}
	verdict.Held = true
	return onward, Timekeeper{prev: prev, since: elapsed, agreed: k.agreed, rest: rest}, verdict
}

// counted returns the part of the time since prev's raise that the last round has counted: none if
// that round led to the raise. A raise may fail for many rounds.
func (k Timekeeper) counted(prev Tick) time.Duration {
	if prev != k.prev {
		return 0
	}
	return k.since
}

// advance advances prev by 0.99 of the elapsed time, and returns the remainder below a tick. A zero
// prev is not advanced.
func (k Timekeeper) advance(prev Tick, elapsed time.Duration) (Tick, time.Duration) {
	if prev <= 0 {
		return 0, 0
	}
	slow, _ := bits.Mul64(uint64(clamp(int64(elapsed), maxMonoNanos)), ninetyNine)
	passed := k.rest + time.Duration(slow)
	return min(prev, Latest).Add(SpanOf(passed)), passed % time.Millisecond
}

// lowerMedian returns the median clock, the lower one for an even number: cluster time should
// rather be behind than ahead.
func lowerMedian(clocks []Tick) Tick {
	sorted := slices.Sorted(slices.Values(clocks))
	return sorted[(len(sorted)-1)/2]
}
