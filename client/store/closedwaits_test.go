package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

// TestCloseEndsPauses: no call waits for the end of a pause when the client has been closed.
func TestCloseEndsPauses(t *testing.T) {
	for name, call := range map[string]func(ctx context.Context, c *Client) error{
		"create": func(ctx context.Context, c *Client) error {
			_, err := c.CreateSequencer(ctx, "users", sequencer.Config{})
			return err
		},
		"destroy": func(ctx context.Context, c *Client) error { return c.DestroySequencer(ctx, "orders") },
		"scale":   func(ctx context.Context, c *Client) error { return c.Scale(ctx, "orders", 3) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				down := false
				b.store = &hooked{Memory: NewMemory(), before: func(context.Context, string, string) error {
					if down {
						return errors.New("down")
					}
					return nil
				}}
				c := b.client(func(c *Config) { c.Window = time.Minute })
				b.create(c)
				down = true
				b.endsWith(c, 20*time.Second, func() error { return call(b.Context(), c) })
			})
		})
	}
	t.Run("repair", func(t *testing.T) {
		inBubble(t, func(b *bench) {
			b.create(b.client(func(c *Config) {
				c.Clock = func() time.Time { return bubbleClock().Add(24 * time.Hour) }
			}))
			c := b.client(func(c *Config) { c.Window = time.Minute })
			b.endsWith(c, 20*time.Second, func() error {
				return c.Repair(b.Context(), "orders", 0, bubbleClock().Add(time.Hour))
			})
		})
	})
}

// endsWith closes a client during a call, which has to return immediately.
func (b *bench) endsWith(c *Client, after time.Duration, call func() error) {
	b.Helper()
	done := make(chan error, 1)
	go func() { done <- call() }()
	time.Sleep(after)
	select {
	case err := <-done:
		b.Fatalf("it ended before the close: %v", err)
	default:
	}
	closed := time.Now()
	_ = c.Close()
	b.wants(<-done, sequencer.ErrClosed)
	if took := time.Since(closed); took > 100*time.Millisecond {
		b.Errorf("it returned %v after the close", took)
	}
}
