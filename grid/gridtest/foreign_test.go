package gridtest_test

import (
	"bytes"
	"context"
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

// logged collects the logs of members.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// lines returns the lines that hold every part.
func (l *logged) lines(parts ...string) (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
next:
	for line := range strings.Lines(l.b.String()) {
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue next
			}
		}
		out = append(out, line)
	}
	return out
}

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// islands starts m1 and m2 apart, each a grid of one member; they meet when the cut between
// them heals.
func islands(t *testing.T, log *logged) *gridtest.Grid {
	apart := []string{"m1", "m2"}
	g := gridtest.Start(t, gridtest.Config{Logger: log.logger(), Change: func(name string, c *grid.Config) {
		c.Expect, c.Join = 1, []string{"m1:7946", "m2:7946"}
		if name != "m1" && name != "m2" {
			c.Expect = 0
		}
	}})
	g.Network.Cut("m1", "m2")
	g.StartMembers(apart...)
	return g
}

// TestForeignGrid: two grids of one name that meet refuse each other, report it, and both
// continue. A member without a grid joins neither of them.
func TestForeignGrid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log logged
		g := islands(t, &log)
		loads := []*load{}
		for _, name := range g.Running() {
			load := newChecker(t).load(200 * time.Millisecond) // inside each grid
			load.run(name, create(t, g.Member(name), "orders", 0), sequencer.ErrClosed)
			loads = append(loads, load)
		}
		g.Network.HealAll()
		time.Sleep(2 * time.Minute)
		one, two := g.Member("m1").Status(), g.Member("m2").Status()
		for _, s := range []struct{ own, other grid.Status }{{one, two}, {two, one}} {
			if len(s.own.ForeignMembers) != 1 || !strings.Contains(s.own.ForeignMembers[0], s.other.Grid) {
				t.Errorf("foreign members of %s: %q", s.own.Grid, s.own.ForeignMembers)
			}
			if !s.own.Ready || len(s.own.Members) != 1 || s.own.Grid == s.other.Grid {
				t.Errorf("grid %s has %d members, ready %v", s.own.Grid, len(s.own.Members), s.own.Ready)
			}
			lines := log.lines("level=ERROR", "grid="+s.own.Grid, "other_grid="+s.other.Grid,
				"give it another Name")
			if len(lines) != 1 {
				t.Errorf("%d errors tell of the other grid, want 1: %q", len(lines), lines)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		err := g.TryMember(ctx, "m3")
		want(t, "start between two grids", err, sequencer.ErrUnavailable, context.DeadlineExceeded)
		for _, s := range []grid.Status{one, two} {
			if err != nil && !strings.Contains(err.Error(), s.Grid) {
				t.Errorf("the error does not name grid %s: %v", s.Grid, err)
			}
		}
		g.Crash("m2")
		time.Sleep(2 * time.Minute)
		if s := g.Member("m1").Status(); len(s.ForeignMembers) != 0 {
			t.Errorf("foreign members that are gone are still reported: %q", s.ForeignMembers)
		}
		for _, load := range loads {
			load.stop()
		}
	})
}

// TestForeignMembersSeenBefore: a member that saw others before it got a grid drops
// those that are in another one.
func TestForeignMembersSeenBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log logged
		g := gridtest.Start(t, gridtest.Config{Logger: log.logger(), Change: func(name string, c *grid.Config) {
			c.Expect, c.Join = 2, []string{"m1:7946", "m2:7946", "m3:7946", "m4:7946"}
		}})
		// m3 and m4 see m1 all the time; m1 and m2 hear of a bootstrap member of their own.
		for _, pair := range [][2]string{{"m1", "m4"}, {"m2", "m3"}, {"m2", "m4"}, {"m1", "m3"}} {
			g.Network.Cut(pair[0], pair[1])
		}
		g.StartMembers("m1", "m2", "m3", "m4")
		time.Sleep(time.Minute)
		g.Network.HealAll()
		time.Sleep(time.Minute)
		for _, name := range g.Running() {
			s := g.Member(name).Status()
			if !s.Ready || len(s.Members) != 2 || len(s.ForeignMembers) != 2 {
				t.Errorf("%s: ready %v, %d members, foreign members %q", name, s.Ready, len(s.Members), s.ForeignMembers)
			}
		}
	})
}
