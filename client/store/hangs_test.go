package store

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

// TestStoreThatHangs: while no call of the store returns, as on a disk that hangs, creates end with their context,
// the reason for the missing renewals is in Health, and Leave ends. When the calls return, the handles continue.
func TestStoreThatHangs(t *testing.T) {
	inBubble(t, func(b *bench) {
		var hangs atomic.Bool
		open := make(chan struct{})
		b.store = &hooked{Memory: NewMemory(), before: func(context.Context, string, string) error {
			if hangs.Load() {
				<-open
			}
			return nil
		}}
		c, leaver := b.client(), b.client()
		h := b.create(c)
		b.next(h)
		b.next(b.create(leaver))
		hangs.Store(true)
		began := time.Now()
		_, err := c.CreateSequencer(b.within(2*time.Second), "users", sequencer.Config{})
		b.wants(err, sequencer.ErrUnavailable)
		if took := time.Since(began); took > 3*time.Second || !strings.Contains(err.Error(), "hangs") {
			b.Errorf("a create ended after %v: %v", took, err)
		}
		time.Sleep(4 * time.Second)
		if health := c.Health(); health.Ready || !strings.Contains(health.Reason, "hangs") {
			b.Errorf("while the store hangs: %+v", health)
		}
		began = time.Now()
		if err := leaver.Leave(b.within(10 * time.Second)); err == nil || time.Since(began) > 11*time.Second {
			b.Errorf("left after %v: %v", time.Since(began), err)
		}
		hangs.Store(false)
		close(open)
		b.next(h)
		if err := c.Leave(b.within(10 * time.Second)); err != nil {
			b.Error(err)
		}
	})
}
