package gridtest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
)

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
		lead := g.Leader()
		behind := other(g, lead)
		killed := other(g, lead, behind)
		g.Network.Cut(behind, lead)
		g.Network.Cut(behind, killed)
		time.Sleep(1600 * time.Millisecond) // a raise takes place
		g.Crash(lead, killed)
		g.Network.HealAll()
		g.StartMembers(lead)
		awaitReady(t, g, time.Minute)
		ids.caller("web").must(orders, 10)
		ids.caller("new").must(create(t, g.Client("new"), "orders", 0), 10)
	})
}

// TestLeadOfAGivenUpClaim: the third voter has given up its claim and followed the restarted leader, which cannot take
// the record since the store is away. When that one is killed and starts again, the third one is elected, whose log
// ends under the claim that it gave up. It passes the lead on, and both continue when the store is back.
func TestLeadOfAGivenUpClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, ids := newAnchorStore(), newChecker(t)
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true, Change: func(_ string, c *grid.Config) {
			c.Anchor, c.Partitions = s, 3
		}})
		ids.caller("web").must(create(t, g.Client("web"), "orders", 0), 10)
		time.Sleep(10 * time.Second)
		lead := g.Leader()
		behind := other(g, lead)
		killed := other(g, lead, behind)
		g.Network.Cut(behind, lead)
		g.Network.Cut(behind, killed)
		time.Sleep(1600 * time.Millisecond) // a raise takes place
		g.Crash(lead, killed)
		g.Network.HealAll()
		s.away.Store(true)
		started := make(chan error, 1)
		for range 4 {
			ctx, kill := context.WithCancel(t.Context())
			go func() { started <- g.TryMember(ctx, lead) }()
			time.Sleep(30 * time.Second)
			kill()
			if err := <-started; err == nil {
				t.Fatal("a member serves without its anchor")
			}
			time.Sleep(5 * time.Second)
		}
		s.away.Store(false)
		g.StartMembers(lead)
		awaitReady(t, g, time.Minute)
		ids.caller("new").must(create(t, g.Client("new"), "orders", 0), 10)
	})
}

// TestGivenUpClaimOfARunningGrid: three of five voters continue under their claim. Of the two that are cut off, one
// starts again, and the other gives up its claim for it. Both are members again when the cut ends.
func TestGivenUpClaimOfARunningGrid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, ids, log := newAnchorStore(), newChecker(t), &recorder{}
		g := gridtest.Start(t, gridtest.Config{Members: 5, Durable: true, Change: func(_ string, c *grid.Config) {
			c.Anchor, c.Partitions, c.Voters, c.Logger = s, 3, 5, log.logger()
		}})
		orders := create(t, g.Client("web"), "orders", 0)
		ids.caller("web").must(orders, 10)
		time.Sleep(10 * time.Second)
		lead := g.Leader()
		behind := other(g, lead)
		restarted := other(g, lead, behind)
		for _, m := range g.Running() {
			for _, cut := range []string{behind, restarted} {
				if m != behind && m != restarted {
					g.Network.Cut(m, cut)
				}
			}
		}
		g.Crash(restarted)
		started := make(chan error, 1)
		go func() { started <- g.TryMember(within(t, 2*time.Minute), restarted) }()
		time.Sleep(40 * time.Second)
		if log.count(gaveUpLine) == 0 {
			t.Error("no claim was given up")
		}
		g.Network.HealAll()
		if err := <-started; err != nil {
			t.Error(err)
		}
		awaitReady(t, g, time.Minute)
		ids.caller("web").must(orders, 10)
	})
}
