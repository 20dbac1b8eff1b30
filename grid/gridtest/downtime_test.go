package gridtest_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
)

// downtimes are from a second to 60 days, each about twice the one before.
func downtimes() (out []time.Duration) {
	for d := time.Second; len(out) < 23; d = d * 193 / 100 {
		out = append(out, d)
	}
	if !long.Enabled() {
		return []time.Duration{out[0], out[4], out[10], out[16], out[22], 60 * 24 * time.Hour}
	}
	return append(out, 60*24*time.Hour)
}

// TestRestartAfterADowntime: however long a grid with data directories was stopped, its first IDs
// have the present time, and are above the last ones from before the stop (R1). Its members start in
// any order, up to three seconds apart.
func TestRestartAfterADowntime(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	for _, window := range []time.Duration{3 * time.Second, time.Minute} {
		t.Run("window "+window.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { restartAfter(t, nil, window, downtimes()) })
		})
	}
	t.Run("anchored", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			restartAfter(t, newAnchorStore(), 3*time.Second, []time.Duration{14 * time.Second, 12 * time.Minute, 10 * time.Hour,
				60 * 24 * time.Hour})
		})
	})
}

func restartAfter(t *testing.T, anchor store.Store, window time.Duration, stops []time.Duration) {
	g := gridtest.New(t, gridtest.Config{Members: 3, Durable: true, Change: func(_ string, c *grid.Config) {
		c.Window, c.Partitions, c.Anchor, c.FirstLife = window, 7, anchor, true
	}})
	ids := newChecker(t)
	random := rand.New(rand.NewPCG(34, 7))
	for _, down := range append([]time.Duration{0}, stops...) {
		time.Sleep(down)
		var starts sync.WaitGroup
		for i, at := range random.Perm(3) {
			pause := time.Duration(at) * time.Duration(random.IntN(1500)) * time.Millisecond
			starts.Go(func() {
				time.Sleep(pause)
				g.StartMembers(names(3)[i])
			})
		}
		starts.Wait()
		checkPresent(t, g, ids, down)
		stopHow(t, g, random.IntN(2) == 0)
	}
}

// checkPresent takes IDs of every member, and looks at the alerts meanwhile.
func checkPresent(t *testing.T, g *gridtest.Grid, ids *checker, down time.Duration) {
	t.Helper()
	for _, name := range g.Running() {
		m := g.Member(name)
		s := create(t, m, "orders", 0)
		for range 3 {
			id := ids.caller(name).must(s, 1)
			if off := timeOf(s, id).Sub(gridtest.Now()).Abs(); off > time.Second {
				t.Errorf("after %v: an ID of %s is %v off", down, name, off)
			}
			for _, a := range grid.Alerts(m.Status()) {
				if a.Name == "clock_offset" {
					t.Errorf("after %v: %s: %s", down, name, a.Text)
				}
			}
			time.Sleep(500 * time.Millisecond)
		}
	}
}

// stopHow stops all members, in order or not.
func stopHow(t *testing.T, g *gridtest.Grid, inOrder bool) {
	if !inOrder {
		g.Crash(g.Running()...)
		return
	}
	var stops sync.WaitGroup
	for _, name := range g.Running() {
		stops.Go(func() { g.Leave(name) })
	}
	stops.Wait()
}

// TestMemberStartsBetweenRaises: a member that starts in a running grid issues IDs with the present time, though the
// last raise may be a tenth of the window old: six minutes here.
func TestMemberStartsBetweenRaises(t *testing.T) {
	t.Parallel()
	for _, durable := range []bool{false, true} {
		t.Run(map[bool]string{false: "in memory", true: "durable"}[durable], func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { startBetweenRaises(t, durable) })
		})
	}
}

func startBetweenRaises(t *testing.T, durable bool) {
	g := gridtest.New(t, gridtest.Config{Members: 3, Durable: durable, Change: func(_ string, c *grid.Config) {
		c.Window, c.Partitions, c.FirstLife = time.Hour, 7, true
	}})
	ids := newChecker(t)
	g.StartMembers(names(3)...)
	checkPresent(t, g, ids, 0)
	started := func(name string) {
		time.Sleep(100 * time.Second)
		g.StartMembers(name)
		checkPresent(t, g, ids, 100*time.Second)
	}
	for i, name := range names(3) {
		if i == 1 {
			g.Crash(name)
		} else {
			g.Leave(name)
		}
		started(name)
	}
	for _, name := range names(6)[3:] {
		started(name)
	}
}
