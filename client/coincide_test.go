package client

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// cut is the error of a call that its context ended, as the transport returns it.
func cut(ctx context.Context, addr string) error {
	<-ctx.Done()
	return failure.Errorf(sequencer.ErrUnavailable, "member at %s: %w", addr, ctx.Err())
}

// TestDenialIsTheOnlyCause: one member denies the search for the owner, and the others are silent. The error is the
// denial, and no time limit of a call.
func TestDenialIsTheOnlyCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		f.hook(func(ctx context.Context, addr, path string, _ any) error {
			switch {
			case path != wire.PathDirectory:
				return errCut
			case addr == "b:1":
				return wire.ErrorOf(failure.Errorf(security.ErrDenied, "grid: not allowed"), 0).Unwire()
			}
			return cut(ctx, addr)
		})
		_, err := c.OpenSequencer(t.Context(), "orders")
		wants(t, err, security.ErrDenied)
		if errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "\n") {
			t.Errorf("open: %v", err)
		}
		f.hook(nil)
	})
}

// TestDialErrorIsOneLine: each of two members refuses.
func TestDialErrorIsOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.hook(func(_ context.Context, addr, _ string, _ any) error {
			return failure.Errorf(sequencer.ErrUnavailable, "member at %s: connection refused", addr)
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := Dial(ctx, Config{Addrs: []string{"a:1", "b:1"}, parts: calls.Parts{Transport: f}})
		wants(t, err, sequencer.ErrUnavailable, context.DeadlineExceeded)
		if text := err.Error(); strings.Contains(text, "\n") || !strings.Contains(text, "a:1: conn") ||
			!strings.Contains(text, "b:1: conn") {
			t.Error(text)
		}
	})
}

// TestDialOfAGridThatForms: one member answers that it waits for its grid, and another one does not answer.
func TestDialOfAGridThatForms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := Dial(ctx, Config{Addrs: []string{"a:1", "b:1"}, parts: calls.Parts{Transport: forming{newFake()}}})
		wants(t, err, sequencer.ErrUnavailable, context.DeadlineExceeded)
		for _, text := range []string{"no member of a formed grid answered at a:1, b:1", "a:1 is not part",
			"b:1: connection refused", "GET /readyz"} {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%v does not contain %q", err, text)
			}
		}
	})
}

// forming is a member at a:1 that is in no grid.
type forming struct{ *fake }

func (forming) Call(_ context.Context, addr, _ string, _, _ any) error {
	if addr != "a:1" {
		return failure.Errorf(sequencer.ErrUnavailable, "member at %s: connection refused", addr)
	}
	return nil
}

// TestEndOfASearchIsNoCause: the owner refuses, and the context ends during the search for another. That is said once.
func TestEndOfASearchIsNoCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		f.hook(func(ctx context.Context, addr, path string, _ any) error {
			if path != wire.PathDirectory {
				return errCut
			}
			return cut(ctx, addr)
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.OpenSequencer(ctx, "orders")
		wants(t, err, sequencer.ErrUnavailable, context.DeadlineExceeded)
		if n := strings.Count(err.Error(), "context deadline exceeded"); n != 1 || !strings.Contains(err.Error(), "cut") {
			t.Errorf("%d times in %v", n, err)
		}
		f.hook(nil)
	})
}

// TestAnswerAtTheEnd: the owner does not answer a first try, and answers a second one as the context ends. The
// error has the answer, which shows that the grid is reachable.
func TestAnswerAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		ctx, cancel := context.WithCancel(t.Context())
		var tries atomic.Int32
		f.hook(func(_ context.Context, _, path string, _ any) error {
			if path == wire.PathDirectory {
				return nil
			}
			if tries.Add(1) == 1 {
				return errCut
			}
			cancel()
			return wire.ErrorOf(failure.Errorf(sequencer.ErrUnavailable, "grid: partition 3 is being recovered"), 0).Unwire()
		})
		_, err := c.OpenSequencer(ctx, "orders")
		wants(t, err, sequencer.ErrUnavailable, context.Canceled)
		if !strings.Contains(err.Error(), "partition 3") || strings.Contains(err.Error(), "check") {
			t.Error(err)
		}
		f.hook(nil)
	})
}

// TestForgetDuringAnAttach: Forget ends with its context while an attach of the handle is in progress. The logical
// node that this gets is released.
func TestForgetDuringAnAttach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		h := create(t, c, "orders")
		if err := h.DetachLogicalNode(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.hookAnswers(func(_ context.Context, _, path string, _ any) error {
			if path == wire.PathAttach {
				time.Sleep(time.Second)
			}
			return nil
		})
		attached := make(chan error)
		go func() { attached <- h.AttachLogicalNode(t.Context()) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		wants(t, c.Forget(ctx, "orders"), context.DeadlineExceeded, sequencer.ErrUnavailable)
		wants(t, <-attached, sequencer.ErrClosed)
		synctest.Wait()
		if n := f.attached(); n > 0 {
			t.Errorf("%d logical nodes are attached", n)
		}
	})
}
