package gridtest_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// TestLeaveWithSlowGossip: a member whose gossip probes once a minute leaves, and closes, as fast as others, though
// gossip still lists a member that has ended. The leader leaves as fast as a follower: the next leader probes the
// voter without a member, and takes its vote.
func TestLeaveWithSlowGossip(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 4, Change: func(_ string, c *grid.Config) {
			c.Gossip.Interval = grid.MaxGossipInterval
		}})
		eventually(t, time.Minute, "the grid is settled", func() bool { return g.Member("m1").Status().Settled })
		g.Crash("m4")
		eventually(t, time.Minute, "m4 is removed", func() bool { return len(g.Member("m1").Status().Members) == 3 })
		began := time.Now()
		ok(t, "leave", g.TryLeave(within(t, 10*time.Second), g.Leader()))
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("Leave took %v", took)
		}
		began = time.Now()
		ok(t, "close", g.Member(g.Leader()).Close())
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("Close took %v", took)
		}
	})
}

// TestVoteOfADeadMemberThatGossipSees: the vote of a member without a data directory ends soon after the member,
// though gossip sees it alive for minutes. Else it would count towards the majority.
func TestVoteOfADeadMemberThatGossipSees(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 4, Change: func(_ string, c *grid.Config) {
			c.Gossip.Interval = grid.MaxGossipInterval
		}})
		leads := g.Leader()
		leader := g.Member(leads)
		settled := func() bool { return leader.Status().Settled }
		eventually(t, time.Minute, "the grid is settled", settled)
		for range 3 { // each time another member without a vote takes the place
			voter := ""
			for _, m := range leader.Status().Members {
				if name := nameOf(g, m.Incarnation); m.Voter && name != "" && name != leads {
					voter = name
				}
			}
			g.Crash(voter)
			eventually(t, 15*time.Second, "three live members vote", func() bool {
				s := leader.Status()
				return s.Voters == 3 && len(s.Members) == 3 && !slices.ContainsFunc(s.Members, func(m grid.MemberInfo) bool {
					return !m.Voter
				})
			})
			g.StartMembers(voter)
			eventually(t, time.Minute, "the grid is settled", settled)
		}
	})
}
