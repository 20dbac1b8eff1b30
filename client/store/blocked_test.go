package store

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"
)

// blockedLog is a handler of a log that takes no line, and answers nothing, before it is opened.
type blockedLog struct{ open chan struct{} }

func (l blockedLog) Enabled(context.Context, slog.Level) bool  { <-l.open; return true }
func (l blockedLog) Handle(context.Context, slog.Record) error { <-l.open; return nil }
func (l blockedLog) WithAttrs([]slog.Attr) slog.Handler        { return l }
func (l blockedLog) WithGroup(string) slog.Handler             { return l }

// TestBlockedFunctionsStopNothing: while the functions of the configuration and the log do not return, a
// handle is renewed, a lost logical node is replaced, and Leave returns. Skipped calls are counted.
func TestBlockedFunctionsStopNothing(t *testing.T) {
	inBubble(t, func(b *bench) {
		open := make(chan struct{})
		defer close(open)
		s, away := switchable()
		b.store = s
		var calls, losses atomic.Int32
		c := b.client(func(c *Config) {
			c.Logger = slog.New(blockedLog{open})
			c.Known = func() map[int]uint64 { calls.Add(1); <-open; return nil }
			c.OnLost = func(Loss) { losses.Add(1); <-open }
		})
		began := time.Now()
		h := b.create(c)
		b.next(h)
		for range 20 { // windows are 3 s
			time.Sleep(time.Second)
			b.next(h)
		}
		if took := time.Since(began); took > 25*time.Second {
			b.Errorf("20 s of renewals took %v", took)
		}
		if health := c.Health(); !health.Valid || !health.Ready || health.Skipped == 0 {
			b.Errorf("after renewals: %+v", health)
		}
		away.Store(true)
		time.Sleep(5 * time.Minute)
		away.Store(false)
		time.Sleep(10 * time.Second)
		b.next(h)
		if calls.Load() != 1 || losses.Load() != lossesMax {
			b.Errorf("%d calls of Known, want 1; %d of OnLost, want %d", calls.Load(), losses.Load(), lossesMax)
		}
		began = time.Now()
		if err := c.Leave(b.within(time.Minute)); err != nil || time.Since(began) > time.Second {
			b.Errorf("left after %v: %v", time.Since(began), err)
		}
	})
}

// TestSlowKnown: a result of Config.Known that comes late is in the next renewal, and until then the one
// before it.
func TestSlowKnown(t *testing.T) {
	inBubble(t, func(b *bench) {
		var took atomic.Int64
		var version atomic.Uint64
		version.Store(1)
		c := b.client(func(c *Config) {
			c.Known = func() map[int]uint64 {
				v := version.Load()
				time.Sleep(time.Duration(took.Load()))
				return map[int]uint64{2: v}
			}
		})
		b.create(c)
		known := func(want uint64) {
			b.Helper()
			if r := b.record(0); r.Known[2] != want {
				b.Errorf("the record has %v, want 2:%d", r.Known, want)
			}
		}
		time.Sleep(1010 * time.Millisecond)
		known(1)
		version.Store(2)
		took.Store(int64(500 * time.Millisecond))
		time.Sleep(1200 * time.Millisecond) // a renewal that does not wait for it
		known(1)
		time.Sleep(1200 * time.Millisecond)
		known(2)
		took.Store(0)
		time.Sleep(600 * time.Millisecond) // no call that is slow runs when the bubble ends
	})
}
