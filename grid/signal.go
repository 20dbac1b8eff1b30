package grid

import (
	"context"
	"time"
)

// signal wakes one waiting goroutine. A signal that is sent while none waits is
// kept for the next; several count as one.
type signal chan struct{}

func newSignal() signal { return make(signal, 1) }

func (s signal) send() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// wait returns when the signal was sent, after limit, or when ctx ends.
func (s signal) wait(ctx context.Context, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-s:
	case <-timer.C:
	case <-ctx.Done():
	}
}
