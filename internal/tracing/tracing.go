// Package tracing calls a user's function at the beginning and the end of operations. The function may
// block, and holds up nothing then: it runs in a goroutine of its own, and an operation waits for it
// no longer than its own context lasts.
package tracing

import (
	"context"
	"log/slog"
	"sync/atomic"
)

// Func begins a span. It returns a context for the span's parts, and the function that ends the span.
type Func = func(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, func(error))

// runningMax is the number of calls of a user's functions that have not returned, above which no
// span begins.
const runningMax = 64

// Tracer makes the spans of a process. A nil Tracer makes none.
type Tracer struct {
	begin   Func
	running atomic.Int64 // calls of the user's functions that have not returned
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
	ctx   context.Context // set when begun
	err   chan error      // the operation's result
	over  chan struct{}   // the second function has returned
}

// start has a goroutine begin a span and end it after its result. It returns nil if the user's
// functions do not return.
func (t *Tracer) start(ctx context.Context, name string, attrs []slog.Attr) *span {
	if t == nil {
		return nil
	}
	if t.running.Add(1) > runningMax {
		t.running.Add(-1)
		return nil
	}
	s := &span{begun: make(chan struct{}), err: make(chan error, 1), over: make(chan struct{})}
	go func() {
		defer close(s.over)
		values, end := t.begin(ctx, name, attrs...)
		t.running.Add(-1)
		s.ctx = ctx
		if values != nil {
			s.ctx = spanContext{ctx, values}
		}
		close(s.begun)
		err := <-s.err
		if end != nil {
			t.running.Add(1)
			end(err)
			t.running.Add(-1)
		}
	}()
	return s
}

// Begin begins a span and returns the context for its parts. end ends the span and has to be called once.
// Both wait for the user's function until ctx ends.
func (t *Tracer) Begin(ctx context.Context, name string, attrs ...slog.Attr) (of context.Context, end func(error)) {
	s := t.start(ctx, name, attrs)
	if s == nil {
		return ctx, func(error) {}
	}
	of = ctx
	select {
	case <-s.begun:
		of = s.ctx
	case <-ctx.Done():
	}
	return of, func(err error) {
		s.err <- err
		select {
		case <-s.over:
		case <-ctx.Done():
		}
	}
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

// spanContext has the values of a user's context, and ends with the operation's: a user's function can
// neither end an operation nor lengthen it.
type spanContext struct {
	context.Context
	values context.Context
}

// Value implements context.Context.
func (c spanContext) Value(key any) any { return c.values.Value(key) }
