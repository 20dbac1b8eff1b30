package gridtest_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/security"
)

// TestExpiredMember: a member whose certificate ends while it runs logs the end, and is not ready for that
// reason. A start with that certificate fails for the same reason. A new certificate makes the member ready.
func TestExpiredMember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log rotationLog
		g := gridtest.New(t, gridtest.Config{Members: 3, Secured: true, Durable: true,
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Change: func(_ string, c *grid.Config) { c.Window = 3 * time.Second }})
		g.Secrets().IssueFor(time.Minute, "m3", security.Member)
		g.StartMembers("m1", "m2", "m3")
		time.Sleep(45 * time.Second)
		if n := log.with("host=m3", "certificate ended"); n != 0 || !g.Member("m3").Ready() {
			t.Errorf("before its certificate ends m3 logs %d times that it has ended; ready: %v", n, g.Member("m3").Ready())
		}
		time.Sleep(30 * time.Second)
		const reason = "this member's certificate ended at 2026-"
		if n := log.with("host=m3", "level=ERROR", `msg="certificate ended"`, "secure issue"); n != 1 {
			t.Errorf("m3 logs %d times that its certificate has ended, want 1", n)
		}
		if n := log.with("host=m3", `msg="quorum lost"`, "Cause: "+reason, "snowgrid secure issue"); n != 1 {
			t.Errorf("m3 logs %d times that the quorum is lost because of its certificate, want 1", n)
		}
		if got := g.Member("m3").Status(); got.Ready || !strings.Contains(got.NotReady, reason) {
			t.Errorf("m3 is ready: %v, %q; want %q", got.Ready, got.NotReady, reason)
		}
		for _, name := range []string{"m1", "m2"} {
			if got := g.Member(name).Status(); !got.Ready {
				t.Errorf("%s is not ready: %q", name, got.NotReady)
			}
		}
		g.Crash("m3")
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		err := g.TryMember(ctx, "m3")
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), reason) {
			t.Errorf("a start with a certificate that has ended: %v, want %q", err, reason)
		}
		g.Secrets().Reissue("m3")
		g.StartMembers("m3")
		eventually(t, time.Minute, "m3 is ready", func() bool { return g.Member("m3").Ready() })
	})
}
