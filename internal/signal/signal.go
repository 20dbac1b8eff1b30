// Package signal has the few ways in which goroutines wait: for a signal to one of them, for a
// broadcast to all, and for a time or the end of a context.
package signal

import (
	"context"
	"time"
)

// Signal wakes one waiting goroutine. A signal that is sent while none waits is
// kept for the next; several count as one.
type Signal chan struct{}

// New returns a signal that was not sent.
func New() Signal { return make(Signal, 1) }

// Send wakes the waiting goroutine, or the next one to wait.
func (s Signal) Send() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// Wait returns when the signal was sent, after limit, or when ctx ends.
func (s Signal) Wait(ctx context.Context, limit time.Duration) {
	select {
	case <-s:
	case <-time.After(limit):
	case <-ctx.Done():
	}
}

// Sleep waits for d, and returns false if ctx ends earlier or has ended.
func Sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
