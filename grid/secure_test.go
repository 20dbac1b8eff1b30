package grid_test

import (
	"bytes"
	"context"
	"github.com/snowgrid/snowgrid/internal/long"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// textLog keeps the lines of a log.
type textLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *textLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// has reports whether one line has all the parts.
func (l *textLog) has(parts ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(line, part)
		}
		if all {
			return true
		}
	}
	return false
}

// TestSecureGrid: three members with certificates form a grid and issue IDs. One with those of
// another authority stays out, and both sides log why. A client in clear text, and one that
// expects certificates of a member without, get a sentence.
func TestSecureGrid(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log textLog
		foreign := gridtest.New(t, gridtest.Config{Secured: true}).Secrets()
		var g *gridtest.Grid
		g = gridtest.New(t, gridtest.Config{
			Members: 3, Secured: true, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Change: func(name string, c *grid.Config) {
				if name == "m4" { // it has the gossip key alone
					key := g.Secrets().GossipKeys()
					foreign.SetGossipKeys(key...)
					c.Security = &security.Config{Dir: foreign.Issue(name, security.Member), Time: gridtest.Now}
				}
			},
		})
		g.StartMembers("m1", "m2", "m3")
		orders, err := g.Client("web").CreateSequencer(t.Context(), "orders", sequencer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := orders.Next(t.Context()); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if err := g.TryMember(ctx, "m4"); err == nil {
			t.Error("a member of another authority has joined")
		}
		if !log.has("host=m4", "level=WARN", "of an authority that is not trusted here: use certificates of one authority") {
			t.Error("m4 does not say why it stays out")
		}
		if !log.has("host=m1", "level=WARN", "tls: ") && !log.has("host=m2", "level=WARN", "tls: ") &&
			!log.has("host=m3", "level=WARN", "tls: ") {
			t.Error("no member says why m4 stays out")
		}
		if _, err := g.TryClient("clear", nil); err == nil ||
			!strings.Contains(err.Error(), "give Security (--security-dir) if the grid has certificates") {
			t.Errorf("a client in clear text: %v", err)
		}
		if _, err := g.TryClient("foreign", &security.Config{Dir: foreign.Issue("web", security.Holder),
			Time: gridtest.Now}); err == nil || !strings.Contains(err.Error(), "of an authority that is not trusted here") {
			t.Errorf("a client of another authority: %v", err)
		}
	})
}

// TestSecureClientOfAClearGrid: a client that has a certificate is told that the members have
// none.
func TestSecureClientOfAClearGrid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		secrets := gridtest.New(t, gridtest.Config{Secured: true}).Secrets()
		g := gridtest.Start(t, gridtest.Config{Members: 1})
		conf := &security.Config{Dir: secrets.Issue("web", security.Holder), Time: gridtest.Now}
		if _, err := g.TryClient("web", conf); err == nil ||
			!strings.Contains(err.Error(), "the other side speaks clear text") {
			t.Errorf("it is told %v", err)
		}
	})
}
