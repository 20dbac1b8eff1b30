package store

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/sequencer"
)

// TestEndedContextIsNamed: the error of a call whose context had ended before says so. The store is not the cause, so
// the error gives no advice about it.
func TestEndedContextIsNamed(t *testing.T) {
	inBubble(t, func(b *bench) {
		c := b.client()
		h, detached := b.create(c), b.create(b.client())
		if err := detached.DetachLogicalNode(b.Context()); err != nil {
			b.Fatal(err)
		}
		ended, cancel := context.WithCancel(b.Context())
		cancel()
		for _, call := range []struct {
			what string
			do   func() error
		}{
			{"open the store", func() error { _, err := Open(ended, b.store, Config{}); return err }},
			{"create", func() error { _, err := c.CreateSequencer(ended, "a", sequencer.Config{}); return err }},
			{"open", func() error { _, err := c.OpenSequencer(ended, "b"); return err }},
			{"striped", func() error { _, err := c.CreateStriped(ended, "c", sequencer.Config{}, 2); return err }},
			{"attach", func() error { return detached.AttachLogicalNode(ended) }},
			{"destroy", func() error { return h.Destroy(ended) }},
			{"detach", func() error { return h.DetachLogicalNode(ended) }},
		} {
			err := call.do()
			if !errors.Is(err, sequencer.ErrUnavailable) || !errors.Is(err, context.Canceled) ||
				!strings.Contains(err.Error(), "the context had ended before") || strings.Contains(err.Error(), "check") {
				b.Errorf("%s: %v", call.what, err)
			}
		}
	})
}
