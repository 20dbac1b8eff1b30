package gridtest_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// noticed is the time after which every process has read its files again, and has ended the
// connections that are not valid any longer.
const noticed = 12 * time.Second

// usage uses a grid until it is stopped: IDs each 50 ms, and a create each 500 ms. No ID may
// fail, and no create may take a second.
type usage struct {
	t    *testing.T
	stop chan struct{}
	done sync.WaitGroup
	mu   sync.Mutex // guards what follows
	ids  int
	slow time.Duration
}

func keepBusy(t *testing.T, c *client.Client) *usage {
	t.Helper()
	orders, err := c.CreateSequencer(t.Context(), "orders", sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	b := &usage{t: t, stop: make(chan struct{})}
	b.done.Go(func() { b.issue(orders) })
	b.done.Go(func() { b.create(c) })
	return b
}

func (b *usage) issue(s *sequencer.Sequencer) {
	for {
		select {
		case <-b.stop:
			return
		case <-time.After(50 * time.Millisecond):
		}
		if _, err := s.Next(b.t.Context()); err != nil {
			b.t.Errorf("an ID: %v", err)
		}
		b.mu.Lock()
		b.ids++
		b.mu.Unlock()
	}
}

func (b *usage) create(c *client.Client) {
	for i := 0; ; i++ {
		select {
		case <-b.stop:
			return
		case <-time.After(500 * time.Millisecond):
		}
		began := time.Now()
		if _, err := c.CreateSequencer(b.t.Context(), fmt.Sprint("name-", i), sequencer.Config{}); err != nil {
			b.t.Errorf("a create: %v", err)
		}
		b.mu.Lock()
		b.slow = max(b.slow, time.Since(began))
		b.mu.Unlock()
	}
}

// end stops the use, and checks what it was like.
func (b *usage) end() {
	b.t.Helper()
	close(b.stop)
	b.done.Wait()
	if b.ids == 0 || b.slow > time.Second {
		b.t.Errorf("%d IDs, and the slowest create took %v", b.ids, b.slow)
	}
	b.t.Logf("%d IDs, slowest create %v", b.ids, b.slow)
}

// rotationLog has the lines of a log.
type rotationLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *rotationLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *rotationLog) with(parts ...string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(line, part)
		}
		if all {
			n++
		}
	}
	return n
}

// TestRotation replaces the authority and every certificate of a running grid: no ID fails, no
// create waits for a second, and in the end the former authority counts nowhere.
func TestRotation(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log rotationLog
		g := gridtest.Start(t, gridtest.Config{Members: 3, Secured: true, Delay: time.Millisecond,
			Logger: slog.New(slog.NewTextHandler(&log, nil))})
		stale := &security.Config{Dir: g.Secrets().Issue("stale", security.Holder), Time: gridtest.Now}
		g.Secrets().Freeze("stale")
		web := g.Client("web")
		leader := g.Leader()
		use := keepBusy(t, web)
		time.Sleep(noticed)
		g.Secrets().AddAuthority()
		time.Sleep(noticed)
		g.Secrets().Reissue()
		time.Sleep(noticed)
		g.Secrets().DropAuthorities()
		time.Sleep(noticed)
		use.end()
		for _, name := range g.Running() {
			if n := log.with("host="+name, "credentials reloaded"); n != 3 {
				t.Errorf("%s has logged %d reloads, want 3", name, n)
			}
		}
		if now := g.Leader(); now != leader {
			t.Logf("%s led, and %s leads now", leader, now)
		}
		g.Crash("m3")
		g.StartMembers("m3")
		if _, err := g.Client("later").OpenSequencer(t.Context(), "orders"); err != nil {
			t.Error(err)
		}
		if _, err := g.TryClient("stale", stale); err == nil || !strings.Contains(err.Error(), "authority") {
			t.Errorf("a certificate of the former authority is accepted: %v", err)
		}
	})
}

// TestFormerAuthorityEnds: without a time in which both are trusted, a member that keeps its
// certificates is out of the grid, which continues.
func TestFormerAuthorityEnds(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log rotationLog
		g := gridtest.Start(t, gridtest.Config{Members: 3, Secured: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		web := g.Client("web")
		if _, err := web.CreateSequencer(t.Context(), "orders", sequencer.Config{}); err != nil {
			t.Fatal(err)
		}
		s := g.Secrets()
		s.Freeze("m3")
		s.AddAuthority()
		s.Reissue()
		s.DropAuthorities()
		time.Sleep(noticed)
		if g.Member("m3").Ready() {
			t.Error("m3 is ready, and its authority is trusted by no other")
		}
		if _, err := web.CreateSequencer(t.Context(), "bills", sequencer.Config{}); err != nil {
			t.Error(err)
		}
		if n := log.with("host=m3", "certificates of the members do not match"); n == 0 {
			t.Error("m3 does not say that certificates do not match")
		}
	})
}

// TestAuthorityDroppedTooEarly: an authority that is dropped everywhere while all certificates are of it stays
// trusted, the log of each process names the remedy, and the grid and its clients continue. The new certificates
// complete the step.
func TestAuthorityDroppedTooEarly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log rotationLog
		g := gridtest.Start(t, gridtest.Config{Members: 3, Secured: true, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Change: func(_ string, c *grid.Config) { c.FirstLife = true }})
		use := keepBusy(t, g.Client("web"))
		step := func(what string, reloads int) {
			t.Helper()
			time.Sleep(noticed)
			for _, name := range g.Running() {
				if n := log.with("host="+name, "credentials reloaded"); n != reloads {
					t.Errorf("%s: %s has reloaded %d times, want %d", what, name, n, reloads)
				}
				if n := log.with("host="+name, "credentials not reloaded", "ca.crt", "snowgrid secure rotate"); n != 1 {
					t.Errorf("%s: %s has logged %d refusals with the remedy, want 1", what, name, n)
				}
				if m := g.Member(name); !m.Ready() {
					t.Errorf("%s: %s is not ready: %s", what, name, m.Status().NotReady)
				}
			}
		}
		g.Secrets().AddAuthority()
		g.Secrets().DropAuthorities()
		step("dropped", 0)
		g.Secrets().Reissue()
		step("with new certificates", 1)
		use.end()
	})
}

// TestStartWithAnUntrustedCertificate: a member whose certificate is of an authority that the others have dropped sees
// them by gossip, and the error of its start names the certificate, not only that no grid answers.
func TestStartWithAnUntrustedCertificate(t *testing.T) {
	t.Parallel()
	for _, durable := range []bool{true, false} {
		t.Run(fmt.Sprint("durable ", durable), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := gridtest.Start(t, gridtest.Config{Members: 3, Secured: true, Durable: durable,
					Change: joinersExpectNothing(3)})
				g.Crash("m3")
				s := g.Secrets()
				earlier := map[string]string{}
				for _, name := range []string{"m3", "m4"} {
					earlier[name] = copyDir(t, s.Issue(name, security.Member))
				}
				s.AddAuthority()
				s.Reissue()
				s.DropAuthorities()
				time.Sleep(noticed)
				for name, dir := range earlier {
					ok(t, "copy", os.RemoveAll(s.Issue(name, security.Member)))
					ok(t, "copy", os.CopyFS(s.Issue(name, security.Member), os.DirFS(dir)))
					err := g.TryMember(within(t, 20*time.Second), name)
					if err == nil || !strings.Contains(err.Error(), "authority that is not trusted here: use certificates") {
						t.Errorf("%s: %v", name, err)
					}
				}
			})
		})
	}
}

// TestExpiredHolder: the calls of a holder end with its certificate, and not those of others;
// with a new one it continues without a restart.
func TestExpiredHolder(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Secured: true})
		dir := g.Secrets().IssueFor(time.Minute, "short", security.Holder)
		short, err := g.TryClient("short", &security.Config{Dir: dir, Time: gridtest.Now})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := short.CreateSequencer(t.Context(), "orders", sequencer.Config{}); err != nil {
			t.Fatal(err)
		}
		use := keepBusy(t, g.Client("web"))
		time.Sleep(30 * time.Second)
		if _, err := short.CreateSequencer(t.Context(), "before", sequencer.Config{}); err != nil {
			t.Errorf("before the certificate ends: %v", err)
		}
		time.Sleep(31 * time.Second)
		if _, err := short.CreateSequencer(within(t, 5*time.Second), "after", sequencer.Config{}); err == nil ||
			!strings.Contains(err.Error(), "expired") {
			t.Errorf("with an expired certificate: %v", err)
		}
		if _, err := g.Member("m1").CreateSequencer(t.Context(), "own", sequencer.Config{}); err != nil {
			t.Error(err)
		}
		g.Secrets().Reissue("short")
		time.Sleep(noticed)
		if _, err := short.CreateSequencer(t.Context(), "again", sequencer.Config{}); err != nil {
			t.Errorf("with a new certificate: %v", err)
		}
		use.end()
	})
}

// TestExpiryIsWarnedOf: a member logs that its certificate ends within 14 days, once a day, and
// no longer when it has another.
func TestExpiryIsWarnedOf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log rotationLog
		g := gridtest.New(t, gridtest.Config{Members: 1, Secured: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		g.Secrets().IssueFor(14*24*time.Hour+20*time.Second, "m1", security.Member)
		g.StartMembers("m1")
		ends := gridtest.Now().Add(14 * 24 * time.Hour)
		if end := g.Member("m1").Stats().CertificateExpiry; end.Sub(ends).Abs() > time.Minute {
			t.Errorf("its certificate ends on %v, want %v", end, ends)
		}
		if n := log.with("certificate ends soon"); n != 0 {
			t.Errorf("%d warnings more than 14 days before", n)
		}
		time.Sleep(30 * time.Second)
		if n := log.with("level=WARN", "certificate ends soon", "of=certificate", "days_left=14", "secure issue"); n != 1 {
			t.Errorf("%d warnings within 14 days, want 1: %s", n, log.text.String())
		}
		g.Secrets().Reissue("m1")
		time.Sleep(noticed)
		if n := log.with("certificate ends soon"); n != 1 {
			t.Errorf("%d warnings of a new certificate", n-1)
		}
	})
}
