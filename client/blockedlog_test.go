package client

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/wire"
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
		c, err := Dial(t.Context(), Config{Addrs: f.members, parts: calls.Parts{Transport: f}, Logger: slog.New(b)})
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

// sessionLog is a slow log that notes whether the lock of the session is held meanwhile.
type sessionLog struct {
	blocked
	client      *atomic.Pointer[Client]
	lines, held *atomic.Int32
}

func (l sessionLog) WithAttrs([]slog.Attr) slog.Handler { return l }

func (l sessionLog) Handle(context.Context, slog.Record) error {
	c := l.client.Load()
	if c == nil {
		return nil
	}
	time.Sleep(10 * time.Millisecond) // others are done
	l.lines.Add(1)
	if !c.session.mu.TryLock() {
		l.held.Add(1)
		return nil
	}
	c.session.mu.Unlock()
	return nil
}

// TestSlowLogHoldsNoSession: the line about a denied renewal does not hold the session, so other handles
// are renewed meanwhile.
func TestSlowLogHoldsNoSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, log := newFake(), sessionLog{client: &atomic.Pointer[Client]{}, lines: &atomic.Int32{}, held: &atomic.Int32{}}
		c, err := Dial(t.Context(), Config{Addrs: f.members, parts: calls.Parts{Transport: f}, Logger: slog.New(log)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		create(t, c, "orders")
		log.client.Store(c)
		f.hook(func(_ context.Context, _, path string, _ any) error {
			if path == wire.PathRenew {
				return errDenied
			}
			return nil
		})
		time.Sleep(20 * time.Second)
		if lines, held := log.lines.Load(), log.held.Load(); lines == 0 || held > 0 {
			t.Errorf("%d lines, %d of them held the session", lines, held)
		}
	})
}
