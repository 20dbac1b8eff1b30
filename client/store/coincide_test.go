package store

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestContextWithACause: the error of a call matches the error of its context, whatever the cause of its end is.
func TestContextWithACause(t *testing.T) {
	inBubble(t, func(b *bench) {
		s, away := switchable()
		b.store = s
		c, other := b.client(), b.client(func(c *Config) { c.Pool = 1 })
		b.create(other)
		for _, want := range []error{sequencer.ErrNoFreeNode, sequencer.ErrUnavailable} {
			ctx, cancel := context.WithCancelCause(b.Context())
			time.AfterFunc(time.Second, func() { cancel(errors.New("the program ends")) })
			_, err := c.CreateSequencer(ctx, "orders", sequencer.Config{})
			b.wants(err, want)
			b.wants(err, context.Canceled)
			away.Store(true)
		}
		away.Store(false)
	})
}

// TestStepIsNoCause: a create takes several steps. The end of its context between two of them is the only cause.
func TestStepIsNoCause(t *testing.T) {
	for at := range int32(12) {
		inBubble(t, func(b *bench) {
			ctx, cancel := context.WithCancel(b.Context())
			var calls atomic.Int32
			s := &hooked{Memory: NewMemory()}
			b.store = s
			c := b.client(func(c *Config) { c.Pool = 1 })
			s.setBefore(func(ctx context.Context, _, _ string) error {
				if calls.Add(1) == at {
					cancel()
				}
				return ctx.Err()
			})
			s.after = func(context.Context, string, string) error {
				if calls.Load() == at-1 {
					cancel()
				}
				return nil
			}
			_, err := c.CreateSequencer(ctx, "orders", sequencer.Config{})
			if err != nil && (!errors.Is(err, context.Canceled) || strings.Contains(err.Error(), errAgain.Error())) {
				b.Errorf("at call %d: %v", at, err)
			}
			s.setBefore(nil)
		})
	}
}

// TestLastErrorOfADetach: the error of a detach whose last call ends with its context has the error of the call before.
func TestLastErrorOfADetach(t *testing.T) {
	inBubble(t, func(b *bench) {
		s := &hooked{Memory: NewMemory()}
		b.store = s
		h := b.create(b.client())
		var calls atomic.Int32
		s.setBefore(func(ctx context.Context, _, _ string) error {
			if calls.Add(1) == 1 {
				return errAway
			}
			<-ctx.Done()
			return ctx.Err()
		})
		err := h.DetachLogicalNode(b.within(time.Second))
		b.wants(err, sequencer.ErrUnavailable)
		b.wants(err, context.DeadlineExceeded)
		if calls.Load() < 2 || !strings.Contains(err.Error(), errAway.Error()) {
			b.Errorf("after %d calls: %v", calls.Load(), err)
		}
		s.setBefore(nil)
	})
}

// TestDecisiveErrors: an operation that fails at several records returns the errors that stay when it is repeated, and
// no time limit of a call. Where the context has cut it off, it says so once.
func TestDecisiveErrors(t *testing.T) {
	for what, do := range map[string]func(ctx context.Context, c *Client) error{
		"scale":   func(ctx context.Context, c *Client) error { return c.Scale(ctx, "orders", 3) },
		"destroy": func(ctx context.Context, c *Client) error { return c.DestroySequencer(ctx, "orders") },
	} {
		inBubble(t, func(b *bench) {
			s := &hooked{Memory: NewMemory()}
			b.store = s
			c := b.client()
			b.create(c)
			key := func(node sequencer.NodeID) string { return record.KeysOf("", "orders").Record(node) }
			for node := range sequencer.NodeID(4) {
				_ = s.Delete(b.Context(), key(node))
			}
			var silent atomic.Int32
			silent.Store(1)
			s.setBefore(func(ctx context.Context, call, at string) error {
				for node := range sequencer.NodeID(silent.Load()) {
					if call == "load" && at == key(node) {
						<-ctx.Done()
						return ctx.Err()
					}
				}
				return nil
			})
			err := do(b.Context(), c)
			b.wants(err, ErrDamaged)
			if errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "node 1") ||
				!strings.Contains(err.Error(), "node 3") {
				b.Errorf("%s: %v", what, err)
			}
			silent.Store(4)
			err = do(b.within(c.cfg.CallTimeout/2), c)
			b.wants(err, sequencer.ErrUnavailable)
			if n := strings.Count(err.Error(), "context deadline exceeded"); n != 2 || strings.Contains(err.Error(), "\n") {
				b.Errorf("%s: %d times in %v", what, n, err)
			}
			s.setBefore(nil)
		})
	}
}

// TestLastErrorOfAResume: a resume that is not done in time says why the renewals failed.
func TestLastErrorOfAResume(t *testing.T) {
	inBubble(t, func(b *bench) {
		s, away := switchable()
		b.store = s
		c := b.client()
		b.create(c)
		away.Store(true)
		time.Sleep(2500 * time.Millisecond)
		err := c.Resume(b.within(100 * time.Millisecond))
		b.wants(err, sequencer.ErrUnavailable)
		b.wants(err, context.DeadlineExceeded)
		if !strings.Contains(err.Error(), errAway.Error()) {
			b.Error(err)
		}
		away.Store(false)
	})
}

// TestForgetDuringAnAttach: Forget ends with its context while an attach of the handle is in progress. The record that
// this takes is returned.
func TestForgetDuringAnAttach(t *testing.T) {
	inBubble(t, func(b *bench) {
		s := &hooked{Memory: NewMemory()}
		b.store = s
		c := b.client(func(c *Config) { c.Pool = 1 })
		h := b.create(c)
		if err := h.DetachLogicalNode(b.Context()); err != nil {
			b.Fatal(err)
		}
		s.setBefore(func(context.Context, string, string) error {
			time.Sleep(100 * time.Millisecond)
			return nil
		})
		attached := make(chan error)
		go func() { attached <- h.AttachLogicalNode(b.Context()) }()
		synctest.Wait()
		b.wants(c.Forget(b.within(50*time.Millisecond), "orders"), context.DeadlineExceeded)
		b.wants(<-attached, sequencer.ErrClosed)
		if r := b.record(0); r.State != record.Free {
			b.Errorf("the record is %v", r.State)
		}
		s.setBefore(nil)
	})
}
