package raftlog

import (
	"fmt"
	"sync"
)

// Every member computes the roster from the same commands. One that cannot read a
// command, since a later version wrote it, must not continue without it: it would own and
// grant by a roster of its own. So its part in the grid ends, as when its disk fails.

// divergence is why this member knows the roster no longer.
type divergence struct {
	mu     sync.Mutex
	reason error         // set before ended is closed, and never again
	ended  chan struct{} // closed when it knows the roster no longer
}

func newDivergence() *divergence { return &divergence{ended: make(chan struct{})} }

// because notes a reason; the first counts. It returns the one that counts.
func (d *divergence) because(reason error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.reason == nil {
		d.reason = reason
		close(d.ended)
	}
	return d.reason
}

// failure returns the reason, nil while the member knows the roster.
func (d *divergence) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reason
}

// DivergenceAdvice is the remedy for a roster that cannot be read.
const DivergenceAdvice = "start the version of snowgrid that the other members run"

// unreadable is the reason for what cannot be read.
func unreadable(what string, cause error) error {
	return fmt.Errorf("grid: %s cannot be read: %w; %s", what, cause, DivergenceAdvice)
}
