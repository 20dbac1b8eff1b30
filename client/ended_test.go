package client

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestEndedContextIsNamed: the error of a call whose context had ended before says so. The grid is not the cause, so
// the error gives no advice about it.
func TestEndedContextIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.hook(func(ctx context.Context, _, _ string, _ any) error { return ctx.Err() })
		c := f.dial(t)
		h := create(t, c, "orders")
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for what, call := range map[string]func() error{
			"dial": func() error {
				_, err := Dial(ended, Config{Addrs: []string{"a:1"}, parts: calls.Parts{Transport: f}})
				return err
			},
			"create": func() error { _, err := c.CreateSequencer(ended, "a", sequencer.Config{}); return err },
			"open":   func() error { _, err := c.OpenSequencer(ended, "b"); return err },
			"striped": func() error {
				_, err := c.CreateStriped(ended, "c", sequencer.Config{}, 2)
				return err
			},
			"destroy by name": func() error { return c.DestroySequencer(ended, "d") },
			"destroy":         func() error { return h.Destroy(ended) },
			"detach":          func() error { return h.DetachLogicalNode(ended) },
		} {
			err := call()
			wants(t, err, sequencer.ErrUnavailable, context.Canceled)
			if err != nil && (!strings.Contains(err.Error(), "the context had ended before") ||
				strings.Contains(err.Error(), "check")) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}
