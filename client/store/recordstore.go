package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/bounded"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/sequencer"
)

// ErrDamaged means that a record is missing or unreadable, or contradicts the sequencer's document.
// Repair is the remedy.
var ErrDamaged = record.ErrDamaged

// ErrExpired means that a record was not renewed in time.
var ErrExpired = record.ErrExpired

// recordStore reads and writes the documents, markers and records of sequencers in a store. It has
// no attachment and no clock.
type recordStore struct {
	store Store
	cfg   Config
	tasks *handles.Tasks
	// cache has entries by key, for stores whose listings have revisions and no bodies.
	cache sync.Map
	stuck bounded.Calls
	// lossy is the store's side of the quarantine; nil if its server cannot lose
	// acknowledged writes.
	lossy Generations
}

// call runs one call of the store with its time limit. No call begins after the client was closed. None outlives it
// but a call that ignores the end of its context.
func call[T any](ctx context.Context, rs *recordStore, op, key string,
	f func(ctx context.Context) (T, error)) (result T, err error) {
	if err := rs.tasks.Begin(); err != nil {
		return result, err
	}
	defer rs.tasks.End()
	ctx, unbind := rs.tasks.Bind(ctx)
	defer unbind()
	ctx, cancel := context.WithTimeout(ctx, rs.cfg.CallTimeout)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return result, err
	}
	return bounded.Do(ctx, &rs.stuck, fmt.Sprintf("store: %s %q in %s", op, key, nameOf(rs.store)), f)
}

func (rs *recordStore) load(ctx context.Context, key string) (Entry, error) {
	return call(ctx, rs, "load", key, func(ctx context.Context) (Entry, error) { return rs.store.Load(ctx, key) })
}

func (rs *recordStore) swap(ctx context.Context, e Entry) (Revision, error) {
	return call(ctx, rs, "swap", e.Key, func(ctx context.Context) (Revision, error) { return rs.store.Swap(ctx, e) })
}

// swapIn is swap on the condition of the server's generation, if the store may lose writes.
func (rs *recordStore) swapIn(ctx context.Context, e Entry, generation string) (Revision, error) {
	if rs.lossy == nil {
		return rs.swap(ctx, e)
	}
	return call(ctx, rs, "swap", e.Key, func(ctx context.Context) (Revision, error) {
		return rs.lossy.SwapIn(ctx, e, generation)
	})
}

func (rs *recordStore) list(ctx context.Context, folder string) ([]Entry, error) {
	return call(ctx, rs, "list", folder, func(ctx context.Context) ([]Entry, error) { return rs.store.List(ctx, folder) })
}

// setUp is a server of a store that may lose writes: its name, and whether it may lose them as it is set up.
type setUp struct {
	id    string
	lossy bool
}

// setUpOf asks for the server that answers now.
func (rs *recordStore) setUpOf(ctx context.Context, g Generations) (setUp, error) {
	return call(ctx, rs, "read", "the generation", func(ctx context.Context) (s setUp, err error) {
		s.id, s.lossy, err = g.Generation(ctx)
		return s, err
	})
}

// generation returns the name of the server, "" if the store cannot lose writes.
func (rs *recordStore) generation(ctx context.Context) (string, error) {
	if rs.lossy == nil {
		return "", nil
	}
	server, err := rs.setUpOf(ctx, rs.lossy)
	if err == nil {
		err = rs.checkGeneration(server.id)
	}
	return server.id, err
}

// checkGeneration returns an error if no record can have a server's name.
//
// Errors: sequencer.ErrInvalidConfig.
func (rs *recordStore) checkGeneration(id string) error {
	if err := record.CheckGeneration(id); err != nil {
		return failure.Errorf(sequencer.ErrInvalidConfig, "store: %s: its generation: %w", nameOf(rs.store), err)
	}
	return nil
}

// persist calls f until it succeeds, or fails for a reason other than the store's, or ctx ends. f
// must be repeatable.
//
// Errors: f's errors with a kind; and, when ctx ended, an error that matches ctx.Err() and
// sequencer.ErrUnavailable.
func (rs *recordStore) persist(ctx context.Context, name string, f func() error) error {
	late := ctx.Err() != nil
	var before error
	for try := 1; ; try++ {
		err := f()
		if err == nil || isFinal(err) {
			return err
		}
		if late {
			return rs.tasks.EndedBefore(ctx, name)
		}
		if errors.Is(err, errAgain) {
			before, try = nil, 0
			continue
		}
		err = causeOf(ctx, err, before)
		before = err
		wait := record.RetryAfter(try, rs.cfg.Window)
		if errors.Is(err, ErrChanged) {
			wait = jitter(20 * time.Millisecond)
		}
		if rs.pause(ctx, wait) {
			continue
		}
		return rs.gaveUp(ctx, name, err)
	}
}

// pause waits for d. It returns false if ctx ended first, or the client was closed.
func (rs *recordStore) pause(ctx context.Context, d time.Duration) bool {
	ctx, unbind := rs.tasks.Bind(ctx)
	defer unbind()
	return signal.Sleep(ctx, d)
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

// decisive joins those errors that stay when a call is repeated. Without such errors it returns the first one: calls
// that were cut off together all have the same.
func decisive(errs []error) error {
	first := cmp.Or(errs...)
	return cmp.Or(errors.Join(slices.DeleteFunc(errs, func(err error) bool { return !isFinal(err) })...), first)
}

// gaveUp returns the error of a call after its context ended, with the last error.
func (rs *recordStore) gaveUp(ctx context.Context, name string, last error) error {
	if rs.tasks.Err() != nil {
		return fmt.Errorf("sequencer %q: %w", name, sequencer.ErrClosed)
	}
	return failure.Errorf(sequencer.ErrUnavailable,
		"sequencer %q: the store did not complete it in time: %w; last error: %s%s", name, ctx.Err(), last.Error(),
		adviceFor(last))
}

// newNonce returns a text that no other body has.
func newNonce() string { return rand.Text() }

// randomBytes returns a life's random half.
func randomBytes() (b [8]byte) {
	_, _ = rand.Read(b[:])
	return b
}

// jitter returns a random duration below d.
func jitter(d time.Duration) time.Duration { return mathrand.N(d) }
