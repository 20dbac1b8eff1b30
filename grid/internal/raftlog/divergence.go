package raftlog

import (
	"fmt"
	"sync"
)

// Every member computes the roster from the same commands. A member that cannot read a command,
// written by a later version, must not continue without it: it would own and grant by a different
// roster. So its part in the grid ends, as after a disk failure.

// divergence records the error that made the roster unreadable here.
type divergence struct {
	mu     sync.Mutex
	reason error         // set before ended is closed, and never again
	ended  chan struct{} // closed when the roster becomes unreadable
}

func newDivergence() *divergence { return &divergence{ended: make(chan struct{})} }

func (d *divergence) because(reason error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.reason == nil {
		d.reason = reason
		close(d.ended)
	}
	return d.reason
}

func (d *divergence) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reason
}

// DivergenceAdvice is the remedy for a roster that cannot be read.
const DivergenceAdvice = "start the version of snowgrid that the other members run"

func unreadable(what string, cause error) error {
	return fmt.Errorf("grid: %s cannot be read: %w; %s", what, cause, DivergenceAdvice)
}
