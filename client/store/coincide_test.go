package store

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

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
	for at := range 12 {
		inBubble(t, func(b *bench) {
			ctx, cancel := context.WithCancel(b.Context())
			calls := 0
			s := &hooked{Memory: NewMemory()}
			b.store = s
			c := b.client(func(c *Config) { c.Pool = 1 })
			s.setBefore(func(ctx context.Context, _, _ string) error {
				if calls++; calls == at {
					cancel()
				}
				return ctx.Err()
			})
			s.after = func(context.Context, string, string) error {
				if calls == at-1 {
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
		calls := 0
		s.setBefore(func(ctx context.Context, _, _ string) error {
			if calls++; calls == 1 {
				return errAway
			}
			<-ctx.Done()
			return ctx.Err()
		})
		err := h.DetachLogicalNode(b.within(time.Second))
		b.wants(err, sequencer.ErrUnavailable)
		b.wants(err, context.DeadlineExceeded)
		if calls < 2 || !strings.Contains(err.Error(), errAway.Error()) {
			b.Errorf("after %d calls: %v", calls, err)
		}
		s.setBefore(nil)
	})
}
