package store

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestNotReadyUntilIDsBegin: while a handle waits for the time of its first ID, because its clock was set back or its
// grant begins later, it is not ready, and the reason has the time. IDs begin then.
func TestNotReadyUntilIDsBegin(t *testing.T) {
	t.Run("clock set back", func(t *testing.T) {
		inBubble(t, func(b *bench) {
			var back atomic.Int64
			c := b.client(func(cfg *Config) {
				cfg.Clock = func() time.Time { return bubbleClock().Add(-time.Duration(back.Load())) }
			})
			h := b.create(c)
			b.next(h)
			back.Store(int64(40 * time.Second))
			time.Sleep(15 * time.Second) // the clock is followed after some samples
			b.waitsUntilIDsBegin(c)
			b.next(h)
		})
	})
	t.Run("quarantine", func(t *testing.T) {
		inBubble(t, func(b *bench) {
			one, s := "one", &servers{Memory: NewMemory(), lossy: true}
			s.name.Store(&one)
			b.store = s
			c := b.client(func(cfg *Config) { cfg.FailoverBound = 20 * time.Second })
			h := b.create(c)
			b.waitsUntilIDsBegin(c)
			b.next(h)
		})
	})
}

// waitsUntilIDsBegin checks that a client's only handle is not ready before the time in its reason, and sleeps until
// then.
func (b *bench) waitsUntilIDsBegin(c *Client) {
	b.Helper()
	health := c.Health()
	begins := health.Sequencers[0].Begins
	if left := begins.Sub(c.clock.Now().Time()); health.Ready || left < 5*time.Second ||
		!strings.Contains(health.Reason, "IDs begin at "+begins.Format(time.RFC3339)) {
		b.Fatalf("IDs begin in %v: %+v", left, health)
	}
	time.Sleep(begins.Sub(c.clock.Now().Time()) - 2*time.Second)
	if health := c.Health(); health.Ready {
		b.Errorf("2 s earlier: %+v", health)
	}
	time.Sleep(2500 * time.Millisecond)
	if health := c.Health(); !health.Ready || health.Reason != "" {
		b.Errorf("IDs have begun: %+v", health)
	}
}
