package handles

import (
	"context"
	"fmt"
	"sync"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Tasks are one client's calls and goroutines, which all end with it.
type Tasks struct {
	pkg  string // prefix of error texts
	ctx  context.Context
	stop context.CancelFunc

	mu     sync.Mutex
	closed bool
	all    sync.WaitGroup
}

// NewTasks returns the tasks for an open client. pkg is its package name.
func NewTasks(pkg string) *Tasks {
	ctx, stop := context.WithCancel(context.Background())
	return &Tasks{pkg: pkg, ctx: ctx, stop: stop}
}

// Context ends with the client.
func (t *Tasks) Context() context.Context { return t.ctx }

// Err returns nil while the client is open, and then sequencer.ErrClosed.
func (t *Tasks) Err() error {
	if t.ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", t.pkg, sequencer.ErrClosed)
}

// EndedBefore returns the error of a call whose context had ended before it: neither grid nor store is the
// cause. It matches sequencer.ErrUnavailable, or sequencer.ErrClosed if the client is closed.
func (t *Tasks) EndedBefore(ctx context.Context, name string) error {
	if t.Err() != nil {
		return fmt.Errorf("sequencer %q: %w", name, sequencer.ErrClosed)
	}
	return failure.Errorf(sequencer.ErrUnavailable, "sequencer %q: the context had ended before this request: %w", name,
		ctx.Err())
}

// Begin adds a call, which [Tasks.Wait] waits for until End.
//
// Errors: sequencer.ErrClosed.
func (t *Tasks) Begin() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed { // another goroutine may be waiting
		return t.Err()
	}
	t.all.Add(1)
	return nil
}

// End takes one call away.
func (t *Tasks) End() { t.all.Done() }

// Go runs f in a goroutine unless the client was closed. Its ctx ends with the client.
func (t *Tasks) Go(f func(ctx context.Context)) {
	if t.Begin() == nil {
		go func() {
			defer t.End()
			f(t.ctx)
		}()
	}
}

// Bind returns a context that ends with ctx or with the client.
func (t *Tasks) Bind(ctx context.Context) (context.Context, context.CancelFunc) {
	bound, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(t.ctx, func() { cancel(sequencer.ErrClosed) })
	return bound, func() { stop(); cancel(nil) }
}

// Close ends every context and refuses tasks from now on.
func (t *Tasks) Close() {
	t.stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
}

// Wait returns when no task is left. The tasks have to be closed.
func (t *Tasks) Wait() { t.all.Wait() }
