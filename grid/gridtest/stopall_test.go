package gridtest_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
)

// TestStopOfAll: three durable members are stopped in order, within some seconds of
// each other, and then one disk is lost. The other two start the grid again, whichever
// was stopped last.
func TestStopOfAll(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	for i, apart := range []time.Duration{0, 500 * time.Millisecond, 2 * time.Second, 4 * time.Second} {
		for j, lost := range []string{"m1", "m2", "m3"} {
			if !long.Enabled() && j != i%3 {
				continue // each pause and each member, but not each pair
			}
			t.Run(fmt.Sprintf("%v apart, %s is lost", apart, lost), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					dirs := map[string]string{}
					g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true, Change: func(name string, c *grid.Config) {
						dirs[name] = c.DataDir
					}})
					ids := newChecker(t)
					orders := create(t, g.Client("c"), "orders", 0)
					ids.caller("c").must(orders, 100)
					time.Sleep(10 * time.Second)
					var stops sync.WaitGroup
					for _, name := range []string{"m1", "m2", "m3"} {
						stops.Go(func() { g.Leave(name) })
						time.Sleep(apart)
					}
					stops.Wait()
					var rest []string
					for _, name := range []string{"m1", "m2", "m3"} {
						if name != lost {
							rest = append(rest, name)
						}
					}
					g.StartMembers(rest...)
					ids.caller("c").must(orders, 100)
					ids.caller("new").must(create(t, g.Client("new"), "orders", 0), 100)
				})
			})
		}
	}
}

// TestStopOfAllTogether: all members of a durable grid are stopped at one moment, and no process uses an ID any
// longer. The leader leaves last, so nothing is lost, and it records the end of the grants: the next start does
// not wait for it.
func TestStopOfAllTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &recorder{}
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true, Logger: log.logger()})
		ids := newChecker(t)
		c := g.Client("c")
		ids.caller("c").must(create(t, c, "orders", 0), 100)
		ok(t, "leave", c.Leave(t.Context()))
		for life := range 4 {
			time.Sleep(10 * time.Second)
			ids.caller("member").must(create(t, g.Member("m1"), "orders", 0), 100)
			var stops sync.WaitGroup
			began := time.Now()
			for _, name := range g.Running() {
				stops.Go(func() { g.Leave(name) })
			}
			stops.Wait()
			if took := time.Since(began); took > 1500*time.Millisecond {
				t.Errorf("life %d: the stop took %v", life, took)
			}
			began = time.Now()
			g.StartMembers("m1", "m2", "m3")
			ids.caller("member").must(create(t, g.Member("m1"), "orders", 0), 100)
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("life %d: the first IDs took %v", life, took)
			}
		}
		if n := log.count("grid stopped cleanly"); n != 4 {
			t.Errorf("%d of 4 ends of the grants were recorded", n)
		}
	})
}

// TestStopOfAllWhileTheLeadPasses: the leader of a durable grid is stopped some milliseconds before the others. It may
// have passed its lead on when they begin to leave, so a member begins while it sees no leader. The end of the grants
// is recorded all the same.
func TestStopOfAllWhileTheLeadPasses(t *testing.T) {
	t.Parallel()
	for _, later := range []time.Duration{0, 1, 2, 3, 4, 40, 41, 42, 43, 44} {
		t.Run(fmt.Sprintf("%d ms later", later), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				log := &recorder{}
				g := gridtest.Start(t, gridtest.Config{
					Members: 3, Durable: true, Logger: log.logger(), Delay: 2 * time.Millisecond,
				})
				time.Sleep(10 * time.Second)
				leads := g.Leader()
				var stops sync.WaitGroup
				stops.Go(func() { g.Leave(leads) })
				time.Sleep(later * time.Millisecond)
				for _, name := range []string{"m1", "m2", "m3"} {
					if name != leads {
						stops.Go(func() { g.Leave(name) })
					}
				}
				stops.Wait()
				if n := log.count("grid stopped cleanly"); n != 1 {
					t.Errorf("%d of 1 ends of the grants were recorded", n)
				}
			})
		})
	}
}

// TestStopOfTwo: two of three durable members are stopped, one after the other; the
// third continues alone, whether they come back or not.
func TestStopOfTwo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		ids := newChecker(t)
		load := ids.load(100 * time.Millisecond)
		load.run("c", create(t, g.Client("c"), "orders", 0))
		time.Sleep(10 * time.Second)
		for _, name := range []string{"m1", "m2"} {
			began := time.Now()
			g.Leave(name)
			t.Logf("%s left in %v", name, time.Since(began))
		}
		time.Sleep(time.Minute)
		if s := g.Member("m3").Status(); !s.Ready || len(s.Members) != 1 {
			t.Errorf("ready %v (%s), members %+v", s.Ready, s.NotReady, s.Members)
		}
		if longest := ids.wait("c"); longest > time.Second {
			t.Errorf("an ID took %v", longest)
		}
		load.stop()
	})
}

// TestPowerFailure: three durable members end together, in the middle of their work, and one
// disk is lost. The other two start the grid again, with all its names: the leader they elect
// notices one dead member after the other, and each of their disks is as good as before.
func TestPowerFailure(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	for _, lost := range []string{"m1", "m2", "m3"} {
		t.Run(lost+" is lost", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
				ids := newChecker(t)
				var names []string
				for i := range 12 {
					names = append(names, fmt.Sprintf("orders-%d", i))
					ids.caller("c").must(create(t, g.Client("c"), names[i], 0), 100)
				}
				time.Sleep(10 * time.Second)
				g.Crash("m1", "m2", "m3")
				g.StartMembers(slices.DeleteFunc([]string{"m1", "m2", "m3"}, func(name string) bool { return name == lost })...)
				for _, name := range names {
					ids.caller("new").must(create(t, g.Client("new"), name, 0), 100)
				}
			})
		})
	}
}
