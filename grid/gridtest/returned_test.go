package gridtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// TestVoterReturns: a voter that was down for a minute receives the log as soon as it has started, so the grid can lose
// another one. Raft alone would send it nothing for up to ten seconds.
func TestVoterReturns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		settled := func() {
			eventually(t, time.Minute, "the grid is settled", func() bool { return g.Member(g.Leader()).Status().Settled })
		}
		settled()
		leads := g.Leader()
		for _, down := range []time.Duration{time.Minute, 10 * time.Minute} {
			away := other(g, leads)
			next := other(g, leads, away)
			g.Crash(away)
			time.Sleep(down)
			g.StartMembers(away)
			settled()
			g.Crash(next)
			member := g.Member(leads)
			before := member.Status().Ceiling
			eventually(t, 4*time.Second, "the ceiling rises", func() bool { return member.Status().Ceiling != before })
			g.StartMembers(next)
			settled()
			time.Sleep(20 * time.Second)
		}
	})
}
