package clustertime

import (
	"fmt"
	"slices"
	"time"
)

// ClockMargin is the maximum by which one machine's clocks may have been stepped back, or two
// machines' clocks may differ, between two lives of a memory-only grid (S2).
const ClockMargin Span = 5_000

// Reading is a reading from one member's wall clock.
type Reading struct {
	Member string // its ID and address, for people
	At     Tick
}

// Clocks returns the lower median and the latest among the clocks of members that form a grid. A
// clock more than [JumpLimit] ahead of the median is an [ErrClock] that names its member: otherwise
// all members would have to wait for that time.
func Clocks(readings []Reading) (median, latest Tick, err error) {
	clocks := make([]Tick, 0, len(readings))
	for _, r := range readings {
		if err := CheckClock(r.At); err != nil {
			return 0, 0, fmt.Errorf("member %s: %w", r.Member, err)
		}
		clocks = append(clocks, r.At)
	}
	if len(clocks) == 0 {
		return 0, 0, fmt.Errorf("%w: no clock was read", ErrClock)
	}
	median, latest = lowerMedian(clocks), slices.Max(clocks)
	for _, r := range readings {
		if ahead := r.At.Sub(median); ahead > JumpLimit {
			return 0, 0, fmt.Errorf(
				"%w: the clock of member %s shows %s, %v ahead of the median of %d members; at most %v is accepted: set the clocks",
				ErrClock, r.Member, text(r.At), ahead.Duration(), len(readings), JumpLimit.Duration())
		}
	}
	return median, latest, nil
}

// Beginning has the facts about earlier runs from which a new grid computes the start of its
// grants.
type Beginning struct {
	Median, Latest Tick // among the members' clocks
	Window         Span // an earlier run's assumed window
	// Durable is set if all members have empty data directories; FirstLife if no holder from an
	// earlier run is running.
	Durable, FirstLife bool
	// Anchored is set if the grid's anchor record bounds every earlier run's grants, so that no
	// clock has to.
	Anchored bool
	// Floor is above every timestamp in any ID, 0 if not stated. With NoHolder, no holder from an
	// earlier run is running either.
	Floor    Tick
	NoHolder bool
}

// First returns the start of a new grid's grants. An earlier run, unless it is excluded, granted up
// to its window ahead of its members' latest clock, which may since have been set back by
// [ClockMargin]. A floor only raises the start, unless no holder from an earlier run is running.
func (b Beginning) First() Tick {
	first := b.Latest.Add(b.Window + ClockMargin)
	switch {
	case b.NoHolder && b.Floor > 0:
		return b.Floor + 1
	case b.Anchored:
		first = b.Median
	case b.FirstLife: // no holder is running, but IDs up to now may have been issued
		first = b.Latest
	case b.Durable:
		first = b.Median
	}
	if b.Floor > 0 {
		first = max(first, b.Floor+1)
	}
	return first
}

// Bound contains a survivor's upper limits for its former grid's grants.
type Bound struct {
	Ceiling Tick // the latest one recorded
	Time    Tick // cluster time, 0 = unknown
	Wall    Tick // its wall clock
	Window  Span // the largest among recorded runs
}

// After returns the start of grants for a grid that another grid's survivors form, and the part
// that allows for a clock jump. A majority of voters that no survivor reaches may have followed a
// jump up to [JumpLimit], and raised the ceiling by it. A stated floor excludes that.
func After(bounds []Bound, floor Tick) (first Tick, jump Span) {
	var ceiling, latest Tick
	var window Span
	for _, b := range bounds {
		ceiling = max(ceiling, b.Ceiling)
		latest = max(latest, b.Time, b.Wall)
		window = max(window, b.Window)
	}
	if floor > 0 {
		ceiling = max(ceiling, floor+1)
	} else {
		jump = JumpLimit
	}
	return max(ceiling, latest.Add(window+ClockMargin+jump)), jump
}

// Recovered returns the start of grants for a grid that is recovered from some members' disks after
// the majority was lost. The lost members may have granted a window and a clock jump beyond
// everything on the disks.
func Recovered(bounds []Bound, floor Tick) Tick {
	highest, window := floor, Span(0)
	for _, b := range bounds {
		highest = max(highest, b.Ceiling, b.Time, b.Wall)
		window = max(window, b.Window)
	}
	return highest.Add(window + ClockMargin + JumpLimit)
}

func text(t Tick) string { return t.Time().Format(time.RFC3339) }
