package store

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

// TestIDsSoonAfterALongOutage: a handle has a logical node again within seconds after a store that was away for longer
// than a window, however long the window is, and a call that waits is answered as soon. A store that hangs costs the
// time limit of one more call.
func TestIDsSoonAfterALongOutage(t *testing.T) {
	for _, window := range []time.Duration{3 * time.Second, 15 * time.Second, 10 * time.Minute, time.Hour} {
		idsAfterOutage(t, window, 10*time.Second, func(context.Context, string, string) error { return errAway })
		idsAfterOutage(t, window, 10*time.Second+defaultCallTimeout, func(ctx context.Context, _, _ string) error {
			<-ctx.Done()
			return ctx.Err()
		})
	}
}

func idsAfterOutage(t *testing.T, window, limit time.Duration, away func(ctx context.Context, call, key string) error) {
	inBubble(t, func(b *bench) {
		s := &hooked{Memory: NewMemory()}
		b.store = s
		c := b.client(func(cfg *Config) { cfg.Window, cfg.Pool = window, 2 })
		h := b.create(c)
		b.next(h)
		s.setBefore(away)
		created := make(chan time.Time)
		go func() {
			_, err := c.CreateSequencer(b.Context(), "users", sequencer.Config{})
			if err != nil {
				b.Errorf("window %v: create: %v", window, err)
			}
			created <- time.Now()
		}()
		time.Sleep(5 * window / 2)
		s.setBefore(nil)
		back := time.Now()
		b.next(h)
		if took := time.Since(back); took > limit {
			b.Errorf("window %v: the next ID %v after the store returned", window, took)
		}
		if took := (<-created).Sub(back); took > limit {
			b.Errorf("window %v: the create returned %v after the store returned", window, took)
		}
	})
}

// TestManyRecordsOverAStoreThatFailsNowAndThen: calls with many records end although one call of the store in
// 25 fails.
func TestManyRecordsOverAStoreThatFailsNowAndThen(t *testing.T) {
	inBubble(t, func(b *bench) {
		s := &hooked{Memory: NewMemory()}
		b.store = s
		c := b.client(func(cfg *Config) { cfg.Pool = 200 })
		var calls atomic.Int64
		s.setBefore(func(context.Context, string, string) error {
			if calls.Add(1)%25 == 0 {
				return errAway
			}
			return nil
		})
		began := time.Now()
		for _, call := range []struct {
			name string
			do   func() error
		}{
			{"create", func() error {
				_, err := c.CreateSequencer(b.within(5*time.Minute), "orders", sequencer.Config{})
				return err
			}},
			{"scale", func() error { return c.Scale(b.within(5*time.Minute), "orders", 400) }},
			{"destroy", func() error { return c.DestroySequencer(b.within(5*time.Minute), "orders") }},
		} {
			before := calls.Load()
			if err := call.do(); err != nil {
				b.Fatalf("%s: %v", call.name, err)
			}
			if took := time.Since(began); took > 30*time.Second {
				b.Errorf("%s took %v and %d calls", call.name, took, calls.Load()-before)
			}
			began = time.Now()
		}
	})
}
