package clustertime

import (
	"fmt"
	"slices"
	"time"
)

// ClockMargin is how far the clocks of one machine may have been stepped back, or
// those of two may differ, between one life of a memory-only grid and the next (S2).
const ClockMargin Span = 5_000

// Reading is what the wall clock of one member shows.
type Reading struct {
	Member string // its ID and address, for people
	At     Tick
}

// Clocks gives the lower median and the latest of the clocks of members that begin a
// grid together. A clock more than [JumpLimit] ahead of the median is an [ErrClock]
// that names its member: everybody would have to wait for the time that it shows.
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
			return 0, 0, fmt.Errorf("%w: the clock of member %s shows %s, %v ahead of the median of %d members; at most %v is accepted: set the clocks",
				ErrClock, r.Member, text(r.At), ahead.Duration(), len(readings), JumpLimit.Duration())
		}
	}
	return median, latest, nil
}

// Beginning is what is known about earlier lives where a grid is formed by members
// that are in none.
type Beginning struct {
	Median, Latest Tick // of the members' clocks
	Window         Span // the window that an earlier life is assumed to have used
	// Durable says that all members keep their part on disk and have nothing there
	// yet; FirstLife, that no holder of an earlier life runs.
	Durable, FirstLife bool
	// Floor is above every timestamp of any ID, 0 if that is not stated. With
	// NoHolder, no holder of an earlier life runs either.
	Floor    Tick
	NoHolder bool
}

// First gives where the grants of a new grid begin. An earlier life, if nothing rules
// one out, granted up to its window ahead of the latest clock of its members, which
// may since have been stepped back by [ClockMargin]. A floor only raises that, unless
// no holder of an earlier life runs.
func (b Beginning) First() Tick {
	first := b.Latest.Add(b.Window + ClockMargin)
	switch {
	case b.NoHolder && b.Floor > 0:
		return b.Floor + 1
	case b.FirstLife: // no holder runs, but IDs up to now may have been issued
		first = b.Latest
	case b.Durable:
		first = b.Median
	}
	if b.Floor > 0 {
		first = max(first, b.Floor+1)
	}
	return first
}

// Bound is what a survivor knows of how far the grid reached that it has abandoned.
type Bound struct {
	Ceiling Tick // the latest that it heard of
	Time    Tick // cluster time, 0 = unknown
	Wall    Tick // its wall clock
	Window  Span // the largest of any life that it knows of
}

// After gives where the grants of a grid begin whose survivors have abandoned it, and
// what of that allows for a jump of the clocks. A majority of voters that no survivor
// hears may have followed a jump of up to [JumpLimit], and raised the ceiling by it. A
// stated floor says that there was none.
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

// Recovered gives where the grants of a grid begin that is recovered from the disks of
// some members of another one, whose majority is lost. What the lost ones may have
// granted is above all that the disks hold, by a window and a jump of the clocks.
func Recovered(bounds []Bound, floor Tick) Tick {
	highest, window := floor, Span(0)
	for _, b := range bounds {
		highest = max(highest, b.Ceiling, b.Time, b.Wall)
		window = max(window, b.Window)
	}
	return highest.Add(window + ClockMargin + JumpLimit)
}

func text(t Tick) string { return t.Time().Format(time.RFC3339) }
