package tracing_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/tracing"
)

type key struct{}

// recorder is a user's function that records the order of events.
type recorder struct {
	mu     sync.Mutex
	events []string
}

func (r *recorder) add(event string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, event)
}

func (r *recorder) begin(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, func(error)) {
	r.add(fmt.Sprintf("begin %s %v in %v", name, attrs, ctx.Value(key{})))
	return context.WithValue(ctx, key{}, name), func(err error) { r.add(fmt.Sprintf("end %s: %v", name, err)) }
}

// TestSpans: parts of an operation get the values of its span, and an ended operation's span has ended.
func TestSpans(t *testing.T) {
	var r recorder
	tracer := tracing.New(r.begin)
	failed := errors.New("failed")
	ctx, end := tracer.Begin(t.Context(), "create", slog.String("sequencer", "orders"))
	_, endPart := tracer.Begin(ctx, "attach")
	endPart(failed)
	end(nil)
	want := "[begin create [sequencer=orders] in <nil> begin attach [] in create end attach: failed end create: <nil>]"
	if got := fmt.Sprint(r.events); got != want {
		t.Errorf("the events are %s, want %s", got, want)
	}
}

// TestNoTracer: without a function, operations have their own context.
func TestNoTracer(t *testing.T) {
	tracer := tracing.New(nil)
	ctx, end := tracer.Begin(t.Context(), "create")
	end(nil)
	tracer.Note(ctx, "renew")(nil)
	if ctx != t.Context() {
		t.Error("the context is another one")
	}
}

// TestContextOfSpan: a user's function changes neither the values of an operation's context nor its end,
// whatever context it returns.
func TestContextOfSpan(t *testing.T) {
	ended, cancel := context.WithCancelCause(context.WithValue(context.Background(), key{}, "user's"))
	cancel(errors.New("user's"))
	for name, of := range map[string]context.Context{"ended": ended, "endless": context.Background(), "none": nil} {
		tracer := tracing.New(func(context.Context, string, ...slog.Attr) (context.Context, func(error)) { return of, nil })
		callers, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "caller's"))
		ctx, end := tracer.Begin(callers, "create")
		part, cancelPart := context.WithCancel(ctx)
		if ctx.Err() != nil || part.Err() != nil || ctx.Value(key{}) != "caller's" {
			t.Errorf("%s: the operation's context has ended (%v), or has the value %v", name, ctx.Err(), ctx.Value(key{}))
		}
		cancel()
		<-part.Done()
		if cause := context.Cause(part); !errors.Is(cause, context.Canceled) {
			t.Errorf("%s: the operation ends because of %v", name, cause)
		}
		cancelPart()
		end(nil)
	}
}

// TestFunctionThatBlocks: operations wait for a blocked function for a moment, and not at all in the background.
// Once many spans are open, operations have none, and do not wait.
func TestFunctionThatBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun, ended atomic.Int64
		release := make(chan struct{})
		tracer := tracing.New(func(ctx context.Context, name string, _ ...slog.Attr) (context.Context, func(error)) {
			begun.Add(1)
			if name == "create" {
				<-release
			}
			return ctx, func(error) {
				<-release
				ended.Add(1)
			}
		})
		began := time.Now()
		waited := func(what string, want time.Duration) {
			t.Helper()
			if got := time.Since(began); got != want {
				t.Errorf("%s: %v have passed, want %v", what, got, want)
			}
		}
		_, end := tracer.Begin(t.Context(), "create")
		waited("a create begins", tracing.Patience)
		end(nil)
		waited("a create ends", 2*tracing.Patience)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, end = tracer.Begin(ctx, "create")
		end(nil)
		waited("a create of a millisecond", 2*tracing.Patience+time.Millisecond)
		for range 2000 {
			tracer.Note(t.Context(), "renew")(nil)
		}
		_, end = tracer.Begin(t.Context(), "create")
		end(nil)
		waited("in the background, and without a span", 2*tracing.Patience+time.Millisecond)
		synctest.Wait()
		if n := begun.Load(); n != 1000 {
			t.Errorf("%d spans are open, want 1000", n)
		}
		close(release)
		synctest.Wait()
		tracer.Note(t.Context(), "renew")(nil)
		synctest.Wait()
		if begun.Load() != 1001 || ended.Load() != 1001 {
			t.Errorf("after the function returned: %d spans began and %d ended, want 1001", begun.Load(), ended.Load())
		}
	})
}

// TestFunctionThatEndsItsGoroutine: as t.FailNow does.
func TestFunctionThatEndsItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracer := tracing.New(func(context.Context, string, ...slog.Attr) (context.Context, func(error)) {
			runtime.Goexit()
			return nil, nil
		})
		for range 2000 {
			began := time.Now()
			_, end := tracer.Begin(t.Context(), "create")
			end(nil)
			if waited := time.Since(began); waited != 0 {
				t.Fatalf("an operation waited %v", waited)
			}
		}
	})
}
