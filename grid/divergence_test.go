package grid_test

import (
	"bytes"
	"fmt"
	"github.com/snowgrid/snowgrid/internal/long"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/sequencer"
)

// logged collects the logs of all members of a grid.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), what)
}

// TestCommandThatNoMemberReadsEndsTheirParts: a command with a part of a later version
// is not skipped: a member that cannot read it says so, changes its roster no longer, and
// takes part no more. No process ends, and handles use what they have.
func TestCommandThatNoMemberReadsEndsTheirParts(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	for _, durable := range []bool{false, true} {
		t.Run(fmt.Sprintf("durable %v", durable), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &logged{}
				g := gridtest.Start(t, gridtest.Config{
					Members: 3, Durable: durable, Logger: slog.New(slog.NewTextHandler(log, nil)),
					Change: func(_ string, c *grid.Config) { c.FirstLife = true },
				})
				ids := issueFrom(t, g, "web", "orders")
				ids.during(3*time.Second, "before")
				version := g.Member("m1").Status().Version
				if err := g.Member(g.Leader()).Log([]byte("\x01\x82\xa4from\x01\xa5split\x81\xa7time_ms\x05")); err != nil {
					t.Fatal(err)
				}
				// A majority has ended; a third alone agrees on nothing, and may not learn of it.
				within(t, 5*time.Second, "those that learn of it say so", func() bool { return log.count("roster lost") >= 2 })
				ids.during(2*time.Second, "with their grants")
				time.Sleep(20 * time.Second)
				for _, name := range g.Running() {
					m := g.Member(name)
					if m.Ready() || m.Status().Version != version {
						t.Errorf("%s is ready: %v, at version %d, was at %d", name, m.Ready(), m.Status().Version, version)
					}
				}
			})
		})
	}
}

// TestNewcomerThatCannotReadTheLogDoesNotServe: a member whose log holds a command that
// it cannot read does not come up as if there were none.
func TestNewcomerThatCannotReadTheLogDoesNotServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 1, Durable: true,
			Change: func(_ string, c *grid.Config) { c.Expect = 1 }})
		_, err := g.Client("web").CreateSequencer(t.Context(), "orders", sequencer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Member("m1").Log([]byte{9}); err != nil {
			t.Fatal(err)
		}
		g.Crash("m1")
		err = g.TryMember(t.Context(), "m1")
		if err == nil || !strings.Contains(err.Error(), "format 9") || !strings.Contains(err.Error(), "start the version") {
			t.Errorf("a start on a log that cannot be read: %v", err)
		}
	})
}
