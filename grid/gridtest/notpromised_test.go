package gridtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestNotPromised shows the cases of RELIABILITY.md, "Not promised", about earlier runs of
// a grid: each gives equal IDs, because a grid that forgot its earlier run cannot avoid
// them. A case without equal IDs could be promised.
func TestNotPromised(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	const long, short = 60 * time.Second, 3 * time.Second
	type life struct {
		durable, firstLife bool
		window             time.Duration
	}
	for what, c := range map[string]struct {
		first, second life
		before        func(g *gridtest.Grid, names []string) // in the first life
		survivor      bool                                   // a holder of the first life continues, cut off
	}{
		"clocks were put right some time before a restart": {
			first: life{window: short}, second: life{window: short},
			before: func(g *gridtest.Grid, names []string) {
				for _, by := range []time.Duration{9 * time.Minute, -9 * time.Minute} {
					for _, name := range names {
						g.StepClock(name, by)
					}
					time.Sleep(10 * time.Second)
				}
				time.Sleep(time.Minute)
			},
		},
		"a first start with data directories after a life without": {
			first: life{window: long}, second: life{window: long, durable: true}, survivor: true,
		},
		"a smaller window than the life before": {
			first: life{window: long}, second: life{window: short}, survivor: true,
		},
		"FirstLife at a second start": {
			first: life{window: long, firstLife: true}, second: life{window: long, firstLife: true}, survivor: true,
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				now, names := c.first, []string{"m1", "m2"}
				g := gridtest.New(t, gridtest.Config{Members: 2, Change: func(_ string, cfg *grid.Config) {
					cfg.Window, cfg.FirstLife = now.window, now.firstLife
					if now.durable {
						cfg.DataDir = t.TempDir()
					}
				}})
				g.StartMembers(names...)
				old := create(t, g.Client("old"), "orders", 0)
				issued := map[sequencer.ID]bool{}
				take := func(s *sequencer.Sequencer) {
					id, err := s.Next(within(t, time.Minute))
					ok(t, "next", err)
					issued[id] = true
				}
				take(old)
				if c.before != nil {
					c.before(g, names)
				}
				time.Sleep(5 * time.Second)
				again, began := false, g.Member("m1").Status().ClusterTime
				for range 8000 { // an ID in each millisecond
					take(old)
					time.Sleep(time.Millisecond)
				}
				if !c.survivor {
					ok(t, "detach", old.DetachLogicalNode(within(t, time.Minute)))
				}
				for _, name := range names {
					g.Network.Cut("old", name)
				}
				g.Crash(names...)
				now = c.second
				g.StartMembers(names...)
				fresh := create(t, g.Client("new"), "orders", 0)
				if !c.survivor {
					time.Sleep(began.Sub(gridtest.Now())) // until the time of the earlier IDs
				}
				for i := 0; i < 40_000 && !again; i++ {
					if c.survivor {
						ctx := within(t, time.Millisecond)
						if id, err := old.Next(ctx); err == nil {
							again = issued[id] // the clock of either may be ahead
							issued[id] = true
						}
					}
					id, err := fresh.Next(within(t, 10*time.Minute))
					ok(t, "next", err)
					again = again || issued[id]
					issued[id] = true
					if !c.survivor || i%2 == 1 {
						time.Sleep(time.Millisecond)
					}
				}
				if !again {
					t.Error("no ID came twice")
				}
			})
		})
	}
}
