package gridtest_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/authority"
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

// TestCertificateNotValidYet: the start of a member whose clock is before the begin of all certificates fails for
// that reason.
func TestCertificateNotValidYet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Secured: true, Durable: true})
		g.Crash("m3")
		for _, name := range []string{"m1", "m2", "m3"} {
			issueNow(t, g.Secrets(), name)
		}
		for _, name := range []string{"m1", "m2"} {
			eventually(t, 5*time.Minute, name+" has its new certificate", func() bool {
				return g.Member(name).Stats().CertificateExpiry.Before(gridtest.Now().Add(time.Hour))
			})
		}
		g.StepClock("m3", -48*time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		const reason = "this member's certificate is valid from 2026-"
		if err := g.TryMember(ctx, "m3"); err == nil || !strings.Contains(err.Error(), reason) ||
			!strings.Contains(err.Error(), "set the clock") {
			t.Errorf("a start two days before the certificate: %v, want %q", err, reason)
		}
		g.StepClock("m3", 48*time.Hour)
		g.StartMembers("m3")
		eventually(t, time.Minute, "m3 is ready", func() bool { return g.Member("m3").Ready() })
	})
}

// issueNow replaces a member's certificate. The new certificate begins minutes before now.
func issueNow(t *testing.T, s *gridtest.Secrets, name string) {
	t.Helper()
	from, to := s.Authority(), s.Issue(name, security.Member)
	a, err := authority.Load(filepath.Join(from, security.AuthorityFile), filepath.Join(from, security.AuthorityKeyFile))
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := a.Issue(authority.Request{Name: name, Role: security.Member, TTL: time.Hour}, gridtest.Now())
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string][]byte{"member.crt": cert, "member.key": key} {
		if err := os.WriteFile(filepath.Join(to, file), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
