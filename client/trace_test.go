package client

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/session"
	"github.com/snowgrid/snowgrid/internal/tracing"
	"github.com/snowgrid/snowgrid/sequencer"
)

// spanRecorder is a Config.Trace that records the spans that have ended, in their order.
type spanRecorder struct {
	mu    sync.Mutex
	spans []string // name and attributes, the span that it is a part of, and the error
}

type parentKey struct{}

func (r *spanRecorder) trace(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, func(error)) {
	parent := ctx.Value(parentKey{})
	return context.WithValue(ctx, parentKey{}, name), func(err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.spans = append(r.spans, fmt.Sprintf("%s %v in %v: %v", name, attrs, parent, err))
	}
}

// take returns the spans that have ended since the last call.
func (r *spanRecorder) take() (out []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out, r.spans = r.spans, nil
	return out
}

func (r *spanRecorder) wants(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := r.take(); !slices.Equal(got, want) {
		t.Errorf("the spans are %q, want %q", got, want)
	}
}

// traced returns a client of the grid with a Config.Trace.
func (f *fake) traced(t *testing.T, trace func(context.Context, string, ...slog.Attr) (context.Context,
	func(error))) *Client {
	t.Helper()
	c, err := Dial(t.Context(), Config{Addrs: []string{"a:1"}, Trace: trace, parts: calls.Parts{Transport: f}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestTrace: creates, attaches and renewals have spans; handles that exist cost none.
func TestTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r spanRecorder
		f := newFake()
		c := f.traced(t, r.trace)
		h := create(t, c, "orders")
		r.wants(t, "attach [sequencer=orders] in create: <nil>", "create [sequencer=orders] in <nil>: <nil>")
		create(t, c, "orders")
		r.wants(t)
		time.Sleep(5 * time.Second)
		r.wants(t, "renew [member=b:1 claims=0 sets=1] in <nil>: <nil>")
		if err := h.DetachLogicalNode(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := h.AttachLogicalNode(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.wants(t, "attach [sequencer=orders] in <nil>: <nil>")
		_, err := c.CreateSequencer(t.Context(), "orders", sequencer.Config{Nodes: 256})
		wants(t, err, sequencer.ErrConflict)
		r.wants(t)
		s, err := c.CreateStriped(t.Context(), "orders", sequencer.Config{Nodes: 128}, 2)
		if err != nil {
			t.Fatal(err)
		}
		attach := "attach [sequencer=orders] in create: <nil>"
		r.wants(t, attach, attach, "create [sequencer=orders] in <nil>: <nil>")
		_ = s.Leave(t.Context())
	})
}

// silence has the calls to an address remain without an answer until the function that it returns is called.
func (f *fake) silence(addr string) (end func()) {
	ended := make(chan struct{})
	f.hook(func(ctx context.Context, to, _ string, _ any) error {
		if to != addr {
			return nil
		}
		select {
		case <-ended:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", sequencer.ErrUnavailable, ctx.Err())
		}
	})
	return func() { close(ended) }
}

// TestTraceOfFailover: a failover begins with the first call to an owner that does not answer, whatever call that
// is, and ends when the directory has another owner, when the owner answers after all, with the client, or after a
// minute without a call.
func TestTraceOfFailover(t *testing.T) {
	for end, want := range map[string]error{
		"moved":    nil,
		"answered": fmt.Errorf("client: the member at b:1 answers again"),
		"closed":   sequencer.ErrClosed,
		"silent":   fmt.Errorf("client: the member at b:1 was not replaced within 1m0s"),
	} {
		for first, within := range map[string]time.Duration{
			"a call": session.CallTimeout + 1, "a renewal": 20 * time.Second,
		} {
			t.Run(end+" after "+first, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var r spanRecorder
					f := newFake()
					c := f.traced(t, r.trace)
					create(t, c, "orders")
					answer := f.silence("b:1")
					var opened sync.WaitGroup
					if first == "a call" {
						opened.Go(func() { _, _ = c.OpenSequencer(t.Context(), f.nameAt("b:1", 0)) })
					}
					time.Sleep(within)
					synctest.Wait()
					r.take()
					if n := c.spans.open(); n != 1 {
						t.Errorf("%d failovers, want one", n)
					}
					switch end {
					case "moved":
						f.move(0)
					case "answered":
						answer()
					case "closed":
						_ = c.Close()
					case "silent":
						time.Sleep(41 * time.Second)
					}
					time.Sleep(20 * time.Second)
					synctest.Wait()
					span := fmt.Sprintf("failover [member=b:1] in <nil>: %v", want)
					if got := r.take(); count(got, span) != 1 || count(got, "failover") != 1 {
						t.Errorf("the spans are %q, want one %q", got, span)
					}
					if n := c.spans.open(); n != 0 && end != "silent" { // which begins again
						t.Errorf("%d failovers have not ended", n)
					}
					_ = c.Close()
					opened.Wait()
				})
			})
		}
	}
}

// open returns how many failovers have not ended.
func (s *spans) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.failovers)
}

func count(all []string, one string) (n int) {
	for _, s := range all {
		if s == one || one == "failover" && strings.HasPrefix(s, one) {
			n++
		}
	}
	return n
}

// TestTraceOfASilentOwner: a call notices by the directory that the owner was replaced. The failover is over
// then, and has one span, however many calls notice it.
func TestTraceOfASilentOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r spanRecorder
		f := newFake()
		c := f.traced(t, r.trace)
		create(t, c, "orders")
		f.silence("b:1")
		var opened sync.WaitGroup
		for range 10 {
			opened.Go(func() { _, _ = c.OpenSequencer(t.Context(), f.nameAt("b:1", 0)) })
		}
		time.Sleep(300 * time.Millisecond)
		f.move(0)
		opened.Wait()
		synctest.Wait()
		if got := r.take(); count(got, "failover [member=b:1] in <nil>: <nil>") != 1 || count(got, "failover") != 1 {
			t.Errorf("the spans are %q, want one failover", got)
		}
	})
}

// TestTraceOfASlowOwner: an owner that answers late was not replaced.
func TestTraceOfASlowOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r spanRecorder
		f := newFake()
		c := f.traced(t, r.trace)
		for after := 190 * time.Millisecond; after < time.Second; after += 10 * time.Millisecond {
			answer := f.silence("b:1")
			time.AfterFunc(after, answer)
			create(t, c, f.nameAt("b:1", after))
		}
		if got := r.take(); count(got, "failover") != 0 {
			t.Errorf("the spans are %q, want no failover", got)
		}
	})
}

// nameAt returns a name, other than orders and another one for each of, that the member at an address owns.
func (f *fake) nameAt(addr string, of time.Duration) string {
	for i := 0; ; i++ {
		if name := fmt.Sprint(of, i); f.owner(name) == addr {
			return name
		}
	}
}

// TestTraceThatBlocks: a function that does not return delays calls for a moment, and no renewal,
// failover or end of the client.
func TestTraceThatBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		blocked := func(ctx context.Context, name string, _ ...slog.Attr) (context.Context, func(error)) {
			if name == "renew" || name == "failover" {
				<-release
			}
			return ctx, func(error) {
				if name == "create" {
					<-release
				}
			}
		}
		f := newFake()
		c := f.traced(t, blocked)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		h, err := c.CreateSequencer(ctx, "orders", sequencer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited != tracing.Patience {
			t.Errorf("the create took %v, want %v", waited, tracing.Patience)
		}
		time.Sleep(10 * time.Minute)
		works(t, h)
		f.silence(f.owner("orders"))
		time.Sleep(time.Minute)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		close(release)
	})
}
