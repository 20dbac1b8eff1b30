package store

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

// TestLongerWindowIsReported: a process whose window is shorter than another one's warns, and names the windows as a
// possible cause: a record states no window, so a longer one looks like a clock that is ahead.
func TestLongerWindowIsReported(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.create(b.client(func(c *Config) { c.Window = time.Minute }))
		var log bytes.Buffer
		b.next(b.create(b.client(func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })))
		if !strings.Contains(log.String(), "or its window is longer") {
			b.Errorf("the log %q", log.String())
		}
	})
}

// TestOneWindowWithFailoverBound: where a failover may lose writes, the quarantine covers grants of one window at most.
// So the store has the window, and clients with another one are refused, in later lives too.
func TestOneWindowWithFailoverBound(t *testing.T) {
	inBubble(t, func(b *bench) {
		one, s := "one", &servers{Memory: NewMemory(), lossy: true}
		s.name.Store(&one)
		b.store = s
		with := func(window time.Duration) *Client {
			return b.client(func(c *Config) { c.Window, c.FailoverBound = window, time.Second })
		}
		first, same, longer, shorter := with(10*time.Second), with(10*time.Second), with(time.Minute), with(5*time.Second)
		refused := func(what string) {
			b.Helper()
			for _, c := range []*Client{longer, shorter} {
				_, created := c.CreateSequencer(context.Background(), "orders", sequencer.Config{})
				_, opened := c.OpenSequencer(context.Background(), "orders")
				for call, err := range map[string]error{"create": created, "open": opened} {
					if !errors.Is(err, sequencer.ErrInvalidConfig) || !strings.Contains(err.Error(), "10s") {
						b.Errorf("%s: a %s with a window of %v: %v", what, call, c.cfg.Window, err)
					}
				}
			}
		}
		h := b.create(first)
		b.next(h)
		b.next(b.create(same))
		refused("alive")
		if err := h.Destroy(context.Background()); err != nil {
			b.Fatal(err)
		}
		if _, err := longer.CreateSequencer(context.Background(), "orders", sequencer.Config{}); !errors.Is(err,
			sequencer.ErrInvalidConfig) {
			b.Errorf("a create after a destroy: %v", err)
		}
		if _, err := with(10*time.Second).OpenSequencer(context.Background(), "orders"); !errors.Is(err,
			sequencer.ErrNotFound) {
			b.Errorf("a refused create began a life: %v", err)
		}
		b.next(b.create(with(10 * time.Second)))
		refused("another life")
	})
}

// TestWindowIsStatedLater: a document from before FailoverBound was given has no window. The first client with
// FailoverBound states its own.
func TestWindowIsStatedLater(t *testing.T) {
	inBubble(t, func(b *bench) {
		one, s := "one", &servers{Memory: NewMemory()}
		s.name.Store(&one)
		b.store = s
		b.next(b.create(b.client(func(c *Config) { c.Window = 20 * time.Second })))
		s.lossy = true
		with := func(window time.Duration) error {
			c := b.client(func(c *Config) { c.Window, c.FailoverBound = window, time.Second })
			_, err := c.OpenSequencer(context.Background(), "orders")
			return err
		}
		if err := with(30 * time.Second); err != nil {
			b.Error(err)
		}
		if err := with(20 * time.Second); !errors.Is(err, sequencer.ErrInvalidConfig) {
			b.Errorf("another window: %v", err)
		}
	})
}
