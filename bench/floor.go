package main

import (
	"sync/atomic"

	"github.com/snowgrid/snowgrid/internal/cycles"
)

// Lower bounds for a generator with one ID sequence on this machine: a shared atomic addition, and
// a reading of the fastest clock.
const (
	sharedAddition = "one shared atomic addition"
	withCycles     = "the same plus the cycle counter"
)

// alone is a counter on its own cache line.
type alone struct {
	_ [128]byte
	n atomic.Int64
	_ [128]byte
}

// floors returns the lower bounds as generators.
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
