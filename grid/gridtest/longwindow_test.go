package gridtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// TestIDsSoonAfterALongOutage: a client issues IDs within seconds after an outage that was longer than a window of ten
// minutes: all members were down, or a cut parted it from them.
func TestIDsSoonAfterALongOutage(t *testing.T) {
	t.Parallel()
	const away = 25 * time.Minute
	members := []string{"m1", "m2", "m3"}
	for name, outage := range map[string]func(g *gridtest.Grid){
		"crash": func(g *gridtest.Grid) {
			for _, m := range members {
				g.Crash(m)
			}
			time.Sleep(away)
			g.StartMembers(members...)
		},
		"cut": func(g *gridtest.Grid) {
			for _, m := range members {
				g.Network.Cut("c1", m)
			}
			time.Sleep(away)
			g.Network.HealAll()
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true,
				Change: func(_ string, c *grid.Config) { c.Window = 10 * time.Minute }})
			eventually(t, time.Minute, "the grid is settled", func() bool { return g.Member("m1").Status().Settled })
			s := create(t, g.Client("c1"), "orders", 0)
			ids := newChecker(t)
			ids.caller("c1").must(s, 10)
			outage(g)
			back := time.Now()
			ids.caller("c1").must(s, 10)
			if took := time.Since(back); took > 20*time.Second {
				t.Errorf("%s: the next ID %v after its end", name, took)
			}
		})
	}
}
