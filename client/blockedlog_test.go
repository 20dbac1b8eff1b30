package client

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// blocked is a handler that takes no line before it is opened.
type blocked struct {
	slog.Handler
	open chan struct{}
}

func (b blocked) Handle(context.Context, slog.Record) error        { <-b.open; return nil }
func (b blocked) WithAttrs([]slog.Attr) slog.Handler               { return b }
func (b blocked) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// TestBlockedLogStopsNothing: while the handler of the log blocks, a handle that lost its logical node
// gets another one, and Leave returns.
func TestBlockedLogStopsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, b := newFake(), blocked{open: make(chan struct{})}
		defer close(b.open)
		c, err := Dial(t.Context(), Config{Addrs: f.members, Transport: f, Logger: slog.New(b)})
		if err != nil {
			t.Fatal(err)
		}
		h := create(t, c, "orders")
		takeAll(t, f, c, "orders")
		time.Sleep(20 * time.Second) // the loss is logged
		f.set(func() { f.table.Expire("orders", 7, f.table.TenantsOf("orders")[7].ID, f.now()) })
		works(t, h)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		began := time.Now()
		if err := c.Leave(ctx); err != nil || time.Since(began) > time.Second {
			t.Errorf("left after %v: %v", time.Since(began), err)
		}
	})
}
