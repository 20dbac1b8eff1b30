//go:build unix

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// failure is what happens to one agent in a round, with the bounds of an attach then.
type failure struct {
	name, what      string
	leads, stops    bool          // the agent leads the grid; its process is paused, and not killed
	median, longest time.Duration // bounds of the attach; 0 = none
}

var failures = []failure{
	{"owner", "an owner that follows is killed", false, false, 300 * time.Millisecond, 600 * time.Millisecond},
	{"leader", "the leader is killed, which owns the name", true, false, 400 * time.Millisecond, 1500 * time.Millisecond},
	{"stop", "an owner that follows is paused", false, true, 0, time.Second},
	{"stop-leader", "the leader is paused, which owns the name", true, true, 0, 0},
}

// Bounds of the other times.
const (
	copiesLongest = time.Second // from a removal to the second copies
	rollLongest   = 6 * time.Second
)

// failuresByName returns the failures with names that are given with commas between them, in that
// order; roll and calm are no failures.
func failuresByName(names string) (out []failure, err error) {
	known := []string{"roll", "calm"}
	for _, f := range failures {
		known = append(known, f.name)
	}
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(failures, func(f failure) bool { return f.name == name })
		switch {
		case i >= 0:
			out = append(out, failures[i])
		case slices.Contains(known, name):
			out = append(out, failure{name: name})
		default:
			return nil, fmt.Errorf("failover: -cases has %q; give some of %s", name, strings.Join(known, ","))
		}
	}
	return out, nil
}

// times are durations that were measured.
type times []time.Duration

// String has the median and the extremes.
func (t times) String() string {
	slices.Sort(t)
	return fmt.Sprintf("median %v, %v to %v, n = %d", t[len(t)/2], t[0], t[len(t)-1], len(t))
}

// check returns an error that names each bound that the times break; a bound of 0 is none.
func (t times) check(what string, median, longest time.Duration) error {
	slices.Sort(t)
	switch m, l := t[len(t)/2], t[len(t)-1]; {
	case median > 0 && m > median:
		return fmt.Errorf("failover: %s: median %v, at most %v are allowed", what, m, median)
	case longest > 0 && l > longest:
		return fmt.Errorf("failover: %s: longest %v, at most %v are allowed", what, l, longest)
	}
	return nil
}
