package gridtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
)

// killBesideALateVoter kills the leader and another of three voters when the third one lacks their last entries. It
// returns the leader.
func killBesideALateVoter(g *gridtest.Grid) (lead string) {
	lead = g.Leader()
	late := other(g, lead)
	killed := other(g, lead, late)
	g.Network.Cut(late, lead)
	g.Network.Cut(late, killed)
	time.Sleep(1600 * time.Millisecond) // a raise takes place
	g.Crash(lead, killed)
	g.Network.HealAll()
	return lead
}

// TestRestartedVoterWithTheLongestLog: of three voters of an anchored grid the leader and another one are killed, and
// the leader alone starts again. The third one lacks the leader's last entries, so that it cannot be elected, and
// refuses the restarted one, which has a log and no claim. It gives up its own claim, and both continue.
func TestRestartedVoterWithTheLongestLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, ids := newAnchorStore(), newChecker(t)
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true, Change: func(_ string, c *grid.Config) {
			c.Anchor, c.Partitions = s, 3
		}})
		orders := create(t, g.Client("web"), "orders", 0)
		ids.caller("web").must(orders, 10)
		time.Sleep(10 * time.Second)
		lead := killBesideALateVoter(g)
		g.StartMembers(lead)
		awaitReady(t, g, time.Minute)
		ids.caller("web").must(orders, 10)
		ids.caller("new").must(create(t, g.Client("new"), "orders", 0), 10)
	})
}

// TestRestartedVoterWithAnEarlierSnapshot: the longest log begins with a snapshot of an earlier claim. The voter that
// starts with it states that claim on its streams, until it leads.
func TestRestartedVoterWithAnEarlierSnapshot(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, ids := newAnchorStore(), newChecker(t)
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true, Change: func(_ string, c *grid.Config) {
			c.Anchor, c.Partitions = s, 3
		}})
		ids.caller("web").must(create(t, g.Client("web"), "orders", 0), 10)
		time.Sleep(70 * time.Minute) // a snapshot is made
		all := g.Running()
		g.Crash(all...)
		g.StartMembers(all...)
		awaitReady(t, g, 2*time.Minute)
		lead := killBesideALateVoter(g)
		g.StartMembers(lead)
		awaitReady(t, g, time.Minute)
		ids.caller("new").must(create(t, g.Client("new"), "orders", 0), 10)
	})
}
