package sequencer

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// nappingClock is a clock whose waits hear neither of the context nor of a wake-up before
// their time has come, as short ones may. During a wait it calls nap.
type nappingClock struct {
	*manualClock
	waits int
	nap   func()
}

func (c *nappingClock) Wait(ctx context.Context, until clustertime.Tick, _ <-chan struct{}) error {
	c.waits++
	if c.nap != nil {
		c.nap()
	}
	c.set(until)
	return ctx.Err()
}

// TestEndedContextEndsEveryWait: a context that has ended keeps no call from an ID that is
// there, and every call that would have to wait fails, however short the wait is.
func TestEndedContextEndsEveryWait(t *testing.T) {
	for _, what := range []string{"Sequencer.Next", "Sequencer.Fill", "Striped.Next", "Striped.Fill"} {
		t.Run(what, func(t *testing.T) {
			clock := &nappingClock{manualClock: newManualClock(2000)}
			s := stripedOn(t, 1, clock)
			one := make([]ID, 1)
			next := map[string]func(context.Context) error{
				"Sequencer.Next": func(ctx context.Context) error { _, err := s.handles[0].Next(ctx); return err },
				"Sequencer.Fill": func(ctx context.Context) error { _, err := s.handles[0].Fill(ctx, one); return err },
				"Striped.Next":   func(ctx context.Context) error { _, err := s.Next(ctx); return err },
				"Striped.Fill":   func(ctx context.Context) error { _, err := s.Fill(ctx, one); return err },
			}[what]
			for range 1024 {
				is(t, "with an ID there", next(ended(t)), nil)
			}
			for range 3 {
				is(t, "with the millisecond used up", next(ended(t)), context.Canceled)
			}
			if clock.waits != 0 {
				t.Errorf("%d waits for calls whose context had ended", clock.waits)
			}
			ctx, cancel := context.WithCancel(t.Context())
			clock.nap = cancel
			is(t, "with a context that ends during the wait", next(ctx), context.Canceled)
			if clock.waits != 1 || clock.Now() != 2001 {
				t.Errorf("%d waits until %d, not one until the next millisecond", clock.waits, clock.Now())
			}
			clock.nap = nil
			for range 1023 { // one was dropped with the wait
				is(t, "after the wait", next(ended(t)), nil)
			}
			is(t, "with a live context", next(t.Context()), nil)
		})
	}
}

// TestReviveOfADestroyedSequencer: the context ends while the backend is asked again, which answers that the sequencer
// was destroyed. The earlier lack of a free node is not the cause.
func TestReviveOfADestroyedSequencer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandle(t)
		h.DetachWhenIdle(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		h.backend.attach = func(preference) (attachment, error) {
			if len(h.backend.asked) == 1 {
				return attachment{}, ErrNoFreeNode
			}
			<-ctx.Done()
			return attachment{}, ErrDestroyed
		}
		out := h.goNext(ctx)
		h.clock.set(2050)
		waits(t, out)
		cancel()
		err := (<-out).err
		is(t, "next", err, ErrDestroyed)
		if errors.Is(err, ErrNoFreeNode) || strings.Contains(err.Error(), "no free") {
			t.Error(err)
		}
	})
}
