package tracing_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
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

// TestContextOfSpan: an operation ends with its caller's context, whatever context the function returns.
func TestContextOfSpan(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, of := range map[string]context.Context{"ended": ended, "endless": context.Background(), "none": nil} {
		tracer := tracing.New(func(context.Context, string, ...slog.Attr) (context.Context, func(error)) { return of, nil })
		callers, cancel := context.WithCancel(t.Context())
		ctx, end := tracer.Begin(callers, "create")
		part, cancelPart := context.WithCancel(ctx)
		if ctx.Err() != nil || part.Err() != nil {
			t.Errorf("%s: the operation's context has ended: %v", name, ctx.Err())
		}
		cancel()
		select {
		case <-part.Done():
		case <-time.After(10 * time.Second):
			t.Errorf("%s: the operation's context does not end with the caller's", name)
		}
		cancelPart()
		end(nil)
	}
}

// TestFunctionThatBlocks: operations wait for a blocked function until their context ends, and not at all in
// the background. Once many calls of it have not returned, operations have no spans.
func TestFunctionThatBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls, ends int
		var mu sync.Mutex
		count := func(n *int) {
			mu.Lock()
			defer mu.Unlock()
			*n++
		}
		release := make(chan struct{})
		tracer := tracing.New(func(ctx context.Context, _ string, _ ...slog.Attr) (context.Context, func(error)) {
			count(&calls)
			<-release
			return ctx, func(error) { count(&ends) }
		})
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, end := tracer.Begin(ctx, "create")
		end(nil)
		if waited := time.Since(began); waited != time.Second {
			t.Errorf("an operation of a second took %v", waited)
		}
		for range 1000 {
			tracer.Note(t.Context(), "renew")(nil)
		}
		if waited := time.Since(began); waited != time.Second {
			t.Errorf("an operation in the background waited: %v", waited)
		}
		_, end = tracer.Begin(t.Context(), "create") // without a span: else it waits forever
		end(nil)
		synctest.Wait()
		if calls != 64 {
			t.Errorf("%d calls wait, want 64", calls)
		}
		close(release)
		synctest.Wait()
		if ends != 64 {
			t.Errorf("%d of 64 spans ended", ends)
		}
		tracer.Note(t.Context(), "renew")(nil)
		synctest.Wait()
		if calls != 65 || ends != 65 {
			t.Errorf("after the function returned: %d spans began and %d ended, want 65", calls, ends)
		}
	})
}
