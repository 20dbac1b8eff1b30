// Package bounded ends the wait for calls that ignore the end of their context. A read or write of a disk or a file
// system that hangs is such a call: the operating system cannot cancel it.
package bounded

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// Patience is how long a call may take to return after its context has ended.
	Patience = 500 * time.Millisecond
	// LeftMax is the maximum number of calls of one [Calls] that run without a caller.
	LeftMax = 64
)

// ErrHangs means that a call has not returned, and may still have its effect.
var ErrHangs = errors.New("a disk or file system that hangs does this; check it")

// End returns the result of f, or ErrHangs if f has not returned within limit after ctx ended. It is for a process that
// is about to end: f continues.
func End(ctx context.Context, limit time.Duration, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	last := time.NewTimer(limit)
	defer last.Stop()
	select {
	case err := <-done:
		return err
	case <-last.C:
		return fmt.Errorf("not ended %v after the signal: %w; the process ends now", limit, ErrHangs)
	}
}

// Calls counts the calls that have not returned in time. The zero value is ready.
type Calls struct{ left atomic.Int64 }

// Do returns the result of f, which runs in a goroutine of its own. If f has not returned [Patience] after ctx ended, f
// continues without a caller, and its result is lost. While [LeftMax] calls do so, none begins. what names the call in
// errors.
//
// Errors: f's, with ErrHangs if f ended with ctx while others continue, for which it may have waited; and ErrHangs,
// which matches ctx.Err() too if f was called.
func Do[T any](ctx context.Context, c *Calls, what string, f func(ctx context.Context) (T, error)) (T, error) {
	var none T
	if left := c.left.Load(); left >= LeftMax {
		return none, fmt.Errorf("%s: earlier calls that have not returned: %d: %w", what, left, ErrHangs)
	}
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	var taken atomic.Bool // by the first of both: the return of f, and the end of the wait
	go func() {
		value, err := f(ctx)
		done <- result{value, err}
		if !taken.CompareAndSwap(false, true) {
			c.left.Add(-1)
		}
	}()
	select {
	case r := <-done:
		return r.value, c.blamed(ctx, r.err)
	case <-ctx.Done():
	}
	last := time.NewTimer(Patience)
	defer last.Stop()
	select {
	case r := <-done:
		return r.value, c.blamed(ctx, r.err)
	case <-last.C:
	}
	c.left.Add(1)
	if !taken.CompareAndSwap(false, true) { // it has returned meanwhile
		c.left.Add(-1)
		r := <-done
		return r.value, c.blamed(ctx, r.err)
	}
	return none, fmt.Errorf("%s: the call had not returned %v after its end: %w: %w", what, Patience, ctx.Err(), ErrHangs)
}

// blamed adds the calls that have not returned to the error of one that ended with ctx.
func (c *Calls) blamed(ctx context.Context, err error) error {
	if left := c.left.Load(); left > 0 && err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w; earlier calls that have not returned: %d: %w", err, left, ErrHangs)
	}
	return err
}
