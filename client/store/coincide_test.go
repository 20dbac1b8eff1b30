package store

import (
	"context"
	"errors"
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
