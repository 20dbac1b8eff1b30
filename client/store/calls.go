package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// ErrDamaged means that a record is missing or unreadable, or contradicts the sequencer's document.
// Repair is the remedy.
var ErrDamaged = record.ErrDamaged

// ErrExpired means that a record was not renewed in time.
var ErrExpired = record.ErrExpired

// call runs one call of the store with its time limit. No call begins after the client was
// closed, and none outlives it.
func (c *Client) call(ctx context.Context, f func(ctx context.Context) error) error {
	if err := c.tasks.Begin(); err != nil {
		return err
	}
	defer c.tasks.End()
	ctx, unbind := c.tasks.Bind(ctx)
	defer unbind()
	ctx, cancel := context.WithTimeout(ctx, c.cfg.CallTimeout)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return err
	}
	return f(ctx)
}

// load reads a key.
func (c *Client) load(ctx context.Context, key string) (e Entry, err error) {
	err = c.call(ctx, func(ctx context.Context) (err error) { e, err = c.store.Load(ctx, key); return err })
	return e, err
}

// swap writes a key.
func (c *Client) swap(ctx context.Context, e Entry) (r Revision, err error) {
	err = c.call(ctx, func(ctx context.Context) (err error) { r, err = c.store.Swap(ctx, e); return err })
	return r, err
}

// swapIn is swap on the condition of the server's generation, if the store may lose writes.
func (c *Client) swapIn(ctx context.Context, e Entry, generation string) (r Revision, err error) {
	if c.lossy == nil {
		return c.swap(ctx, e)
	}
	err = c.call(ctx, func(ctx context.Context) (err error) { r, err = c.lossy.SwapIn(ctx, e, generation); return err })
	return r, err
}

// list reads the keys in a folder.
func (c *Client) list(ctx context.Context, folder string) (all []Entry, err error) {
	err = c.call(ctx, func(ctx context.Context) (err error) { all, err = c.store.List(ctx, folder); return err })
	return all, err
}

// generation returns the name of the server, "" if the store cannot lose writes.
func (c *Client) generation(ctx context.Context) (id string, err error) {
	if c.lossy == nil {
		return "", nil
	}
	err = c.call(ctx, func(ctx context.Context) (err error) { id, _, err = c.lossy.Generation(ctx); return err })
	if err == nil && id == "" {
		err = errors.New("the store names no generation")
	}
	return id, err
}

// persist calls f until it succeeds, or fails for a reason other than the store's, or ctx ends. f
// must be repeatable.
//
// Errors: f's errors with a kind; and, when ctx ended, an error that matches ctx.Err() and
// sequencer.ErrUnavailable.
func (c *Client) persist(ctx context.Context, name string, f func() error) error {
	for try := 1; ; try++ {
		err := f()
		if err == nil || isFinal(err) {
			return err
		}
		wait := record.RetryAfter(try, c.cfg.Window)
		switch {
		case errors.Is(err, errAgain):
			wait, try = 0, 0
		case errors.Is(err, ErrChanged):
			wait = jitter(20 * time.Millisecond)
		}
		if pause(ctx, wait) == nil && c.tasks.Err() == nil {
			continue
		}
		return c.gaveUp(ctx, name, err)
	}
}

// errAgain has persist call its function again immediately: a step of several is done.
var errAgain = errors.New("one step is done")

// orAgain returns errAgain in place of success.
func orAgain(err error) error {
	if err == nil {
		return errAgain
	}
	return err
}

// isFinal reports whether an error stays when a call is repeated.
func isFinal(err error) bool {
	for _, kind := range []error{
		sequencer.ErrInvalidConfig, sequencer.ErrConflict, sequencer.ErrDestroyed, sequencer.ErrNotFound,
		sequencer.ErrClosed, ErrDamaged,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// gaveUp returns the error of a call after its context ended, with the last error.
func (c *Client) gaveUp(ctx context.Context, name string, last error) error {
	if c.tasks.Err() != nil {
		return fmt.Errorf("sequencer %q: %w", name, sequencer.ErrClosed)
	}
	return failure.Errorf(sequencer.ErrUnavailable, "sequencer %q: the store did not complete it in time: %w; last error: %s%s", name, ctx.Err(), last.Error(), reachAdvice(last))
}
