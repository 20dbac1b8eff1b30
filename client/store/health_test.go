package store

import (
	"context"
	"strings"
	"testing"
	"time"
)

// TestReasonsWhileTheStoreIsAway: the reason for the missing renewals has the store's error and the time until which
// IDs last; the error after that time blames the store, and not the holder.
func TestReasonsWhileTheStoreIsAway(t *testing.T) {
	inBubble(t, func(b *bench) {
		s := &hooked{Memory: NewMemory()}
		b.store = s
		c := b.client()
		h := b.create(c)
		b.next(h)
		s.setBefore(func(context.Context, string, string) error { return errAway })
		time.Sleep(c.cfg.Window - c.cfg.Window/4)
		health, until := c.Health(), h.Stats().GrantUntil
		if want := "its IDs last until " + until.UTC().Format(time.RFC3339) + "; last error: "; health.Ready ||
			!health.Valid || !strings.Contains(health.Reason, want) || !strings.Contains(health.Reason, errAway.Error()) {
			b.Errorf("%+v, want %q", health, want)
		}
		time.Sleep(2 * c.cfg.Window)
		_, err := h.Next(b.within(time.Second))
		if err == nil || strings.Contains(err.Error(), "silent") || !strings.Contains(err.Error(), errAway.Error()) {
			b.Errorf("after the grant: %v", err)
		}
	})
}
