package gridtest_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/metrics/membermetrics"
	"github.com/snowgrid/snowgrid/sequencer"
)

// blockedLog is a handler of a log, with the audit lines, that returns only when it is opened.
type blockedLog struct{ open chan struct{} }

func (l blockedLog) Enabled(context.Context, slog.Level) bool  { <-l.open; return true }
func (l blockedLog) Handle(context.Context, slog.Record) error { <-l.open; return nil }
func (l blockedLog) WithAttrs([]slog.Attr) slog.Handler        { return l }
func (l blockedLog) WithGroup(string) slog.Handler             { return l }

// TestBlockedSinksStopNothing: while the log, the audit log and the reader of the metrics of every member are
// blocked, the members form a grid, create sequencers, renew, replace a crashed owner, and end.
func TestBlockedSinksStopNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		defer close(open)
		g := gridtest.New(t, gridtest.Config{Members: 3, Durable: true, Logger: slog.New(blockedLog{open})})
		began := time.Now()
		g.StartMembers("m1", "m2", "m3")
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("formed after %v", took)
		}
		c := g.Client("web")
		for _, m := range []string{"m1", "m2", "m3"} {
			unread := make(chan prometheus.Metric)
			go func() {
				defer close(unread)
				membermetrics.ForMember(g.Member(m)).Collect(unread)
			}()
			defer func() { // the collectors end
				for range unread {
				}
			}()
		}
		handle, err := c.CreateSequencer(t.Context(), "orders", sequencer.Config{})
		ok(t, "create", err)
		issue := func(h *sequencer.Sequencer) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			_, err := h.Next(ctx)
			ok(t, "an ID", err)
		}
		for range 4 { // windows of 15 s
			time.Sleep(15 * time.Second)
			issue(handle)
		}
		for i := range 50 { // an audit line each
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			_, err := c.CreateSequencer(ctx, fmt.Sprint("s", i), sequencer.Config{})
			cancel()
			ok(t, "create", err)
		}
		g.Crash(g.OwnerOf("orders"))
		time.Sleep(time.Minute)
		issue(handle)
		began = time.Now()
		for _, m := range g.Running() {
			ok(t, "close "+m, g.Member(m).Close())
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("closed after %v", took)
		}
	})
}
