package gridtest_test

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/long"
)

// awaitReady waits until every running member is ready.
func awaitReady(t *testing.T, g *gridtest.Grid, limit time.Duration) {
	t.Helper()
	unready := func() (out string) {
		for _, name := range g.Running() {
			if s := g.Member(name).Status(); !g.Member(name).Ready() {
				out += name + ": " + s.NotReady + "; "
			}
		}
		return out
	}
	began := time.Now()
	for unready() != "" && time.Since(began) < limit {
		time.Sleep(100 * time.Millisecond)
	}
	if what := unready(); what != "" {
		t.Fatalf("not ready after %v: %s", limit, what)
	}
	t.Logf("all ready after %v", time.Since(began))
}

// foreignClaim is the claim of another life of a grid.
const foreignClaim = "00000000000000000000000000000001"

// takeElsewhere takes a grid's record for another life of the grid.
func takeElsewhere(t *testing.T, s store.Store) {
	t.Helper()
	list, err := s.List(t.Context(), "")
	ok(t, "list", err)
	for _, e := range list {
		if !strings.Contains(e.Key, "anchor/") {
			continue
		}
		var record map[string]any
		ok(t, "decode", json.Unmarshal(e.Body, &record))
		record["claim"] = foreignClaim
		e.Body, err = json.Marshal(record)
		ok(t, "encode", err)
		_, err = s.Swap(t.Context(), e)
		ok(t, "swap", err)
		return
	}
	t.Fatal("the store has no anchor")
}

// TestAnchoredLearners: an anchored grid has members beyond the Raft servers. They follow the grid
// to another claim, and so does one that was down meanwhile, with a log of the claim before.
func TestAnchoredLearners(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	for what, durable := range map[string]bool{"memory": false, "disks": true} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newAnchorStore()
				g := startMany(t, gridtest.Config{Durable: durable, Change: func(_ string, c *grid.Config) { c.Anchor = s }})
				before := anchorOf(g).Claim
				down := learners(g)[0]
				g.Crash(down)
				takeElsewhere(t, s)
				eventually(t, 3*time.Minute, "the anchor is held again", func() bool {
					a := anchorOf(g)
					return a.State == "held" && a.Claim != before
				})
				g.StartMembers(down)
				awaitReady(t, g, time.Minute)
				eventually(t, time.Minute, "two members are learners", func() bool { return len(learners(g)) == 2 })
			})
		})
	}
}

// TestAnchorSwitchedOnWithLearners: the members of a grid with learners are restarted with an anchor,
// in turn, learners first and last.
func TestAnchorSwitchedOnWithLearners(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAnchorStore()
		var on atomic.Bool
		g := startMany(t, gridtest.Config{Durable: true, Change: func(_ string, c *grid.Config) {
			if on.Load() {
				c.Anchor = s
			}
		}})
		on.Store(true)
		order := append(learners(g)[:1], g.Running()...)
		for _, name := range append(order, learners(g)...) {
			g.Leave(name)
			g.StartMembers(name)
		}
		eventually(t, time.Minute, "the anchor is held", func() bool { return anchorOf(g).State == "held" })
		awaitReady(t, g, time.Minute)
		if n := len(learners(g)); n != 2 {
			t.Errorf("%d of %d members are learners", n, leader.ServersMost+2)
		}
	})
}
