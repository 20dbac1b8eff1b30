// Package tracing calls a user's function at the beginning and the end of operations. The function may
// block: it runs in a goroutine of its own, and an operation waits for it for [Patience] at most.
package tracing

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// Func begins a span. It returns a context for the span's parts, and the function that ends the span.
type Func = func(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, func(error))

// Patience is the longest time for which an operation waits for the user's function, at its beginning and
// again at its end.
const Patience = 100 * time.Millisecond

// openMax bounds the spans that are open, and with them the goroutines. Operations beyond have no span.
const openMax = 1000

// Tracer makes the spans of a process. A nil Tracer makes none.
type Tracer struct {
	begin Func
	open  atomic.Int64 // spans
}

// New returns a tracer for a user's function, nil for none.
func New(begin Func) *Tracer {
	if begin == nil {
		return nil
	}
	return &Tracer{begin: begin}
}

// span is one operation. The goroutine that runs the user's functions closes its channels.
type span struct {
	begun chan struct{}   // the first function has returned
	of    context.Context // from the first function; set when begun
	err   chan error      // the operation's result
	over  chan struct{}   // the second function has returned
}

// start has a goroutine begin a span and end it after its result. It returns nil if too many are open.
func (t *Tracer) start(ctx context.Context, name string, attrs []slog.Attr) *span {
	if t == nil {
		return nil
	}
	if t.open.Add(1) > openMax {
		t.open.Add(-1)
		return nil
	}
	s := &span{begun: make(chan struct{}), err: make(chan error, 1), over: make(chan struct{})}
	go func() {
		begun := false
		defer func() { // also if a function ends the goroutine
			if !begun {
				close(s.begun)
			}
			close(s.over)
			t.open.Add(-1)
		}()
		of, end := t.begin(forUser(ctx), name, attrs...)
		s.of, begun = of, true
		close(s.begun)
		if err := <-s.err; end != nil {
			end(err)
		}
	}()
	return s
}

// Begin begins a span and returns the context for its parts. end ends the span and has to be called once.
// Both wait for the user's function, but not longer than [Patience], nor when ctx has ended.
func (t *Tracer) Begin(ctx context.Context, name string, attrs ...slog.Attr) (of context.Context, end func(error)) {
	s := t.start(ctx, name, attrs)
	if s == nil {
		return ctx, func(error) {}
	}
	of = ctx
	if await(ctx, s.begun) && s.of != nil {
		of = context.WithValue(ctx, spanKey{}, s.of)
	}
	return of, func(err error) {
		s.err <- err
		await(ctx, s.over)
	}
}

// await waits for a channel, and reports whether it was closed in time.
func await(ctx context.Context, closed <-chan struct{}) bool {
	select {
	case <-closed:
		return true
	case <-time.After(Patience):
	case <-ctx.Done():
	}
	return false
}

// Note begins a span as [Tracer.Begin] does, and waits for nothing. A span whose end comes too early for
// the user's function begins late.
func (t *Tracer) Note(ctx context.Context, name string, attrs ...slog.Attr) (end func(error)) {
	s := t.start(ctx, name, attrs)
	if s == nil {
		return func(error) {}
	}
	return func(err error) { s.err <- err }
}

// spanKey is the key of a span's context from the user's function. The operation's own context has its other
// values and its end: a user's function changes neither.
type spanKey struct{}

// forUser returns the context for a user's function: with the values of the span around it, if there is one.
func forUser(ctx context.Context) context.Context {
	if around, in := ctx.Value(spanKey{}).(context.Context); in {
		return userContext{ctx, around}
	}
	return ctx
}

// userContext has the values of a span, and ends with the operation.
type userContext struct {
	context.Context
	around context.Context
}

func (c userContext) Value(key any) any { return c.around.Value(key) }
