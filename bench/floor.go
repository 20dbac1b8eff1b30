package main

import (
	"sync/atomic"

	"github.com/snowgrid/snowgrid/internal/cycles"
)

// What a generator with one line of IDs cannot do without, on this machine: an addition
// that all callers share, and a look at the quickest of clocks.
const (
	sharedAddition = "an addition that all share, alone"
	withCycles     = "the same and the cycle counter"
)

// alone keeps what is added to on a line of its own.
type alone struct {
	_ [128]byte
	n atomic.Int64
	_ [128]byte
}

// floors are no generators, but what the fastest one could not go below.
func floors() []generator {
	var a, b alone
	return []generator{
		{name: sharedAddition, next: func() { a.n.Add(1) }},
		{name: withCycles, next: func() {
			if cycles.Now() != b.n.Load() {
				b.n.Add(1)
			}
		}},
	}
}
