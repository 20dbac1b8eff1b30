package gridtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// TestStopInOrder: the last member of a durable grid that leaves records the end of the
// grants, and the grid restarts immediately, above every issued ID; after a crash, or with
// an attached node, it starts at its ceiling (S1).
func TestStopInOrder(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		attached bool
		end      func(g *gridtest.Grid)
		wait     time.Duration
	}{
		"leave":                 {false, func(g *gridtest.Grid) { g.Leave("m1") }, 0},
		"leave, client stays":   {true, func(g *gridtest.Grid) { g.Leave("m1") }, 15 * time.Second},
		"crash without a word":  {false, func(g *gridtest.Grid) { g.Crash("m1") }, 15 * time.Second},
		"leave, clock set back": {false, func(g *gridtest.Grid) { g.Leave("m1"); g.StepClock("m1", -time.Hour) }, 0},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := gridtest.Start(t, gridtest.Config{Members: 1, Durable: true})
				ids := newChecker(t)
				caller := ids.caller("before")
				caller.must(create(t, g.Member("m1"), "orders", 0), 100)
				outside := create(t, g.Client("c"), "orders", 0)
				ids.caller("outside").must(outside, 100)
				if !c.attached {
					ok(t, "detach", outside.DetachLogicalNode(t.Context()))
				}
				c.end(g)
				g.StartMembers("m1")
				began := time.Now()
				ids.caller("after").must(create(t, g.Member("m1"), "orders", 0), 1)
				took := time.Since(began)
				t.Logf("first ID after %v", took)
				if took > c.wait+5*time.Second || c.wait == 0 && took > time.Second {
					t.Errorf("first ID after %v, want at most %v", took, c.wait)
				}
			})
		})
	}
}
