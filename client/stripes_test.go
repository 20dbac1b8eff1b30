package client

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/epoch"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// createStriped returns a handle over as many logical nodes.
func createStriped(t *testing.T, c *Client, name string, stripes int) *sequencer.Striped {
	t.Helper()
	s, err := c.CreateStriped(t.Context(), name, sequencer.Config{Nodes: 128}, stripes)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.LogicalNodes(); len(got) != stripes || len(slices.Compact(got)) != stripes {
		t.Fatalf("%d stripes have logical nodes %v", stripes, got)
	}
	return s
}

// TestStripedHandles: each has logical nodes of its own, and gives back just those.
func TestStripedHandles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		first, second, own := createStriped(t, c, "orders", 20), createStriped(t, c, "orders", 3), create(t, c, "orders")
		if f.attached() != 24 || first.Definition() != own.Definition() {
			t.Fatalf("%d logical nodes are attached", f.attached())
		}
		if err := first.Leave(t.Context()); err != nil || f.attached() != 4 {
			t.Errorf("%v; %d logical nodes are attached", err, f.attached())
		}
		_, err := first.Next(t.Context())
		wants(t, err, sequencer.ErrClosed)
		wants(t, first.Leave(t.Context()), sequencer.ErrClosed)
		for range 100 {
			if _, err := second.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		works(t, own)
		if len(c.handles.All()) != 4 {
			t.Errorf("%d handles are kept", len(c.handles.All()))
		}
	})
}

// TestStripesAreOneHolder: what stripes need of the grid does not grow with their
// number: one event stream, and one small call now and then to renew all of them,
// even beside a Detached handle.
func TestStripesAreOneHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		own := create(t, c, "orders")
		if err := own.DetachLogicalNode(t.Context()); err != nil {
			t.Error(err)
		}
		s := createStriped(t, c, "orders", 64)
		time.Sleep(10 * time.Second)
		f.set(func() { f.calls = nil })
		time.Sleep(time.Minute)
		renewals := f.made(wire.PathRenew)
		for _, m := range renewals {
			if in := m.in.(wire.RenewRequest); len(in.Sets) != 1 || in.Sets[0].Count != 65 || len(in.Claims) > 0 {
				t.Errorf("a renewal of %d sets and %d claims", len(in.Sets), len(in.Claims))
			}
		}
		if n := len(renewals); n < 15 || n > 21 || n != f.count() {
			t.Errorf("%d renewals a minute, %d calls", n, f.count())
		}
		if _, err := s.Next(t.Context()); err != nil || s.Stats().GrantWaits > 0 {
			t.Errorf("%v, %+v", err, s.Stats())
		}
	})
}

// TestDestroyEndsEveryStripe: by an event, by an answer, or by a call here; all logical
// nodes are given back.
func TestDestroyEndsEveryStripe(t *testing.T) {
	for name, destroy := range map[string]func(f *fake, c *Client, s *sequencer.Striped) error{
		"event": func(f *fake, _ *Client, _ *sequencer.Striped) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.destroy("orders", attachment.Life{})
		},
		"answer": func(f *fake, _ *Client, _ *sequencer.Striped) error {
			f.cutStreams()
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.destroy("orders", attachment.Life{})
		},
		"handle": func(_ *fake, _ *Client, s *sequencer.Striped) error { return s.Destroy(context.Background()) },
		"client": func(_ *fake, c *Client, _ *sequencer.Striped) error {
			return c.DestroySequencer(context.Background(), "orders")
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			c := f.dial(t)
			s := createStriped(t, c, "orders", 10)
			if _, err := s.Next(t.Context()); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			if err := destroy(f, c, s); err != nil {
				t.Error(name, err)
			}
			if name == "answer" {
				time.Sleep(5 * time.Second)
			}
			synctest.Wait()
			_, err := s.Next(t.Context())
			wants(t, err, sequencer.ErrDestroyed)
			// Who was answered that the life has ended need not give anything back.
			if n := len(f.made(wire.PathDetach)); n != 10 && name != "handle" {
				t.Errorf("%s: %d given back", name, n)
			}
			if len(c.handles.All()) != 0 || s.State() != sequencer.Destroyed {
				t.Errorf("%s: %d handles kept, %v", name, len(c.handles.All()), s.State())
			}
			again := createStriped(t, c, "orders", 2)
			if err := s.Leave(t.Context()); err != nil || len(again.LogicalNodes()) != 2 {
				t.Errorf("%s: %v; the next life has nodes %v", name, err, again.LogicalNodes())
			}
		})
	}
}

// TestStripedIsAllOrNothing: where not all logical nodes can be attached, those that
// were are given back.
func TestStripedIsAllOrNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		createStriped(t, f.dial(t), "orders", 60)
		createStriped(t, f.dial(t), "orders", 60)
		s, err := c.CreateStriped(t.Context(), "orders", sequencer.Config{Nodes: 128}, 9)
		wants(t, err, sequencer.ErrNoFreeNode)
		if s != nil || f.attached() != 120 || len(c.handles.All()) != 0 {
			t.Errorf("%v; %d logical nodes are attached, %d handles kept", s, f.attached(), len(c.handles.All()))
		}
		createStriped(t, c, "orders", 8)
	})
}

// TestStripedEndsWithItsContext: ctx ends while one attach has no answer. The
// nodes of the others are released in the background.
func TestStripedEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		f.hook(func(ctx context.Context, _, path string, _ any) error {
			if path == wire.PathAttach && f.attached() >= 3 {
				<-ctx.Done()
			}
			return ctx.Err()
		})
		s, err := c.CreateStriped(ctx, "orders", sequencer.Config{Nodes: 128}, 20)
		wants(t, err, sequencer.ErrUnavailable, context.DeadlineExceeded)
		synctest.Wait()
		if s != nil || f.attached() != 0 || len(c.handles.All()) != 0 {
			t.Errorf("%v; %d logical nodes are attached, %d handles kept", s, f.attached(), len(c.handles.All()))
		}
	})
}

func TestStripedRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		create(t, f.dial(t), "orders")
		calls := func() int { return len(f.made(wire.PathCreate)) + len(f.made(wire.PathAttach)) }
		before := calls()
		for _, stripes := range []int{-1, 0, attachment.MaxStripes + 1} {
			_, err := c.CreateStriped(t.Context(), "orders", sequencer.Config{Nodes: 128}, stripes)
			wants(t, err, sequencer.ErrInvalidConfig)
		}
		_, err := c.CreateStriped(t.Context(), "orders", sequencer.Config{Nodes: 7}, 2)
		wants(t, err, sequencer.ErrInvalidConfig)
		if calls() != before {
			t.Error("the grid was asked")
		}
		_, err = c.CreateStriped(t.Context(), "orders", sequencer.Config{Epoch: epoch.Discord}, 2)
		wants(t, err, sequencer.ErrConflict)
		if f.attached() != 1 {
			t.Errorf("%d logical nodes are attached", f.attached())
		}
	})
}

// TestStripedEndsWithTheClient: Leave gives its logical nodes back, Close does not.
func TestStripedEndsWithTheClient(t *testing.T) {
	for left, end := range map[int]func(c *Client) error{
		0: func(c *Client) error { return c.Leave(context.Background()) },
		5: (*Client).Close,
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			c := f.dial(t)
			s := createStriped(t, c, "orders", 5)
			if err := end(c); err != nil || f.attached() != left {
				t.Errorf("%v; %d logical nodes are attached, want %d", err, f.attached(), left)
			}
			_, err := s.Next(t.Context())
			_, created := c.CreateStriped(t.Context(), "orders", sequencer.Config{Nodes: 128}, 2)
			for _, err := range []error{err, created, s.Leave(t.Context()), s.Destroy(t.Context())} {
				wants(t, err, sequencer.ErrClosed)
			}
		})
	}
}

// TestStripedLeaveEndsWithItsContext: it has ended all the same, and the logical nodes
// follow when the owner answers again.
func TestStripedLeaveEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		s := createStriped(t, c, "orders", 10)
		f.hook(func(context.Context, string, string, any) error { return errCut })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wants(t, s.Leave(ctx), context.DeadlineExceeded, sequencer.ErrUnavailable)
		if _, err := s.Next(t.Context()); !errors.Is(err, sequencer.ErrClosed) || f.attached() != 10 {
			t.Errorf("%v; %d logical nodes are attached", err, f.attached())
		}
		f.hook(nil)
		time.Sleep(time.Second)
		if f.attached() != 0 {
			t.Errorf("%d logical nodes are still attached", f.attached())
		}
	})
}
