package gridtest_test

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
)

// The figures that the README states for a new attach after a crash.
const (
	attachMedian = 3 * time.Second
	attachMax    = 6 * time.Second
)

// More kills than in an ordinary run:
//
//	go test ./grid/gridtest -run TestContinuity -kills 20 -partitions 271
var kills = flag.Int("kills", 1, "number of kills in each case of TestContinuity")

// victims are the members whose ends are the hardest for the others.
var victims = map[string]func(c *crowd) string{
	"owner":  func(c *crowd) string { return c.g.OwnerOf(c.names[0]) },
	"leader": func(c *crowd) string { return c.g.Leader() },
}

// TestContinuity: whichever member dies, refusing connections or silently, no holder waits
// or loses its logical node, and a new attach takes seconds.
func TestContinuity(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		members, backups int
		victim           string
		silent           bool
	}{
		{3, 1, "owner", false}, {3, 1, "owner", true}, {3, 1, "leader", false}, {3, 1, "leader", true},
		{5, 3, "owner", true}, {5, 3, "leader", false},
	} {
		how := "refused"
		if c.silent {
			how = "silent"
		}
		t.Run(fmt.Sprintf("%s of %d, %d backups, %s", c.victim, c.members, c.backups, how), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				killAll(t, newCrowd(t, c.members, func(cfg *grid.Config) { cfg.Backups = c.backups }).use(3, several(3)...),
					c.victim, c.silent)
			})
		})
	}
}

// TestContinuityWhenLeaderAndOwnerDieTogether: the member that leads and owns the probe's partition
// dies.
func TestContinuityWhenLeaderAndOwnerDieTogether(t *testing.T) {
	t.Parallel()
	for how, silent := range map[string]bool{"refused": false, "silent": true} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd(t, 3, nil)
				leader := c.g.Leader()
				c.use(3, ownedBy(t, c.g, leader), "orders", "users")
				took := c.kill(leader, silent)
				time.Sleep(15 * time.Second)
				c.calm("after the end")
				c.kept("after the end")
				t.Logf("attach after %v; %d IDs", took, c.ids.count())
				if took > attachMax {
					t.Errorf("attach took %v, want at most %v", took, attachMax)
				}
			})
		})
	}
}

// killAll kills one after the other, and starts each again.
func killAll(t *testing.T, c *crowd, victim string, silent bool) {
	var attaches []time.Duration
	for range max(*kills, 3) { // a median needs three
		name := victims[victim](c)
		attaches = append(attaches, c.kill(name, silent))
		time.Sleep(10 * time.Second)
		c.calm("after the end of " + name)
		c.kept("after the end of " + name)
		if silent {
			c.g.Crash(name)
			c.paused = nil
		}
		c.g.StartMembers(name)
		awaitFull(t, c.g, time.Minute)
		c.attach(name, c.g.Member(name))
	}
	time.Sleep(5 * time.Second)
	c.calm("at the end")
	c.kept("at the end")
	c.load.stop()
	slices.Sort(attaches)
	n := len(attaches)
	median, longest := (attaches[(n-1)/2]+attaches[n/2])/2, attaches[n-1]
	t.Logf("attach after %d ends: median %v, longest %v; %d IDs", n, median, longest, c.ids.count())
	if median > attachMedian || longest > attachMax {
		t.Errorf("attaches took %v, want a median of %v and at most %v", attaches, attachMedian, attachMax)
	}
}

// kill ends a member, and returns how long an attach takes at that moment. A
// silent end leaves the process running and unreachable.
func (c *crowd) kill(name string, silent bool) time.Duration {
	c.t.Helper()
	c.gone(name)
	if silent {
		c.paused = append(c.paused, name)
		c.g.Network.Pause(name)
	} else {
		c.g.Crash(name)
	}
	return c.attachTime()
}

// TestTwoOfThreeReplicas: with two backups the owner and one backup die together,
// and the last replica has everything: names, lives and logical nodes.
func TestTwoOfThreeReplicas(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 5, func(cfg *grid.Config) { cfg.Backups = 2 })
		c.use(3, c.spread()...)
		var idle []string
		maker := c.g.Client("maker")
		for i := range 40 {
			idle = append(idle, fmt.Sprint("idle-", i))
			s := create(t, maker, idle[i], 256)
			ok(t, "detach", s.DetachLogicalNode(t.Context()))
		}
		owner := c.g.OwnerOf(c.names[0])
		second := backupOf(c.g, owner, c.names[0])
		c.gone(owner, second)
		c.g.Crash(owner, second)
		took := c.attachTime()
		checkKnown(t, c.g, idle)
		time.Sleep(15 * time.Second)
		c.calm("after both ends")
		c.kept("after both ends")
		c.g.StartMembers(owner, second)
		full := awaitFull(t, c.g, time.Minute)
		c.kept("after both starts")
		c.calm("after both starts")
		t.Logf("attach after %v; full again %v after the restart", took, full)
		if took > attachMax {
			t.Errorf("attach took %v, want at most %v", took, attachMax)
		}
	})
}

// checkKnown fails the test unless every name is known with its definition.
func checkKnown(t *testing.T, g *gridtest.Grid, names []string) {
	t.Helper()
	c := g.Client("reader")
	for _, name := range names {
		s, err := c.OpenSequencer(within(t, 30*time.Second), name)
		ok(t, "open "+name, err)
		if got := s.Definition().Config().Nodes; got != 256 {
			t.Errorf("%s has %d logical nodes, want 256", name, got)
		}
	}
}

// TestLoss: without any copy, holders register again and rebuild the tables: each holder
// waits once at most, and keeps its logical node in the same life.
func TestLoss(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	for what, c := range map[string]struct {
		members, backups int
	}{"no backups": {3, grid.NoBackups}, "owner and backup together": {5, 1}, "all three replicas together": {5, 2}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				crowd := newCrowd(t, c.members, func(cfg *grid.Config) { cfg.Backups = c.backups })
				lose(t, crowd.use(3, crowd.spread()...))
			})
		})
	}
}

// lose crashes every replica of a name's partition, and starts them again.
func lose(t *testing.T, c *crowd) {
	var victims []string
	for _, i := range partitionOf(c.g, "m1", c.names[0]).InSync {
		victims = append(victims, nameOf(c.g, i))
	}
	before := c.g.Member("m1").Status().Partitions
	var err error
	c.probe, err = c.g.Client("late").OpenSequencer(c.t.Context(), c.names[0]) // it never had a node that it could ask for
	ok(t, "open", err)
	c.gone(victims...)
	c.g.Crash(victims...)
	took := c.attachTime()
	time.Sleep(20 * time.Second)
	c.kept("after the loss")
	c.g.StartMembers(victims...)
	full := awaitFull(t, c.g, time.Minute)
	time.Sleep(5 * time.Second)
	c.load.stop()
	c.kept("at the end")
	lost := 0
	for id, p := range c.g.Member("m1").Status().Partitions {
		lost += count(p.LostTerm != before[id].LostTerm)
	}
	n, longest := c.waited()
	t.Logf("%d partitions lost with %v; %d holders waited %d times, at the longest %v; attach after %v; full %v after "+
		"the restart; %d IDs",
		lost, victims, len(c.holders), n, longest, took, full, c.ids.count())
	if lost == 0 || n == 0 {
		t.Error("no partition was lost, or no holder waited")
	}
	if longest > longestWait {
		t.Errorf("the longest wait was %v, want at most %v", longest, longestWait)
	}
	for _, h := range c.holders {
		if w := h.s.Stats().GrantWaits; w > 1 {
			t.Errorf("%s of %s waited %d times", h.s.Name(), h.host, w)
		}
	}
}
