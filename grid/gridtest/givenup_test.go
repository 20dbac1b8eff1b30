package gridtest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// gaveUpLine is the log line of a voter that gives up its claim.
const gaveUpLine = "no leader, and voters have another claim or none: this member discards its own and joins again"

// awaitRaise returns right after a raise of the ceiling.
func awaitRaise(t *testing.T, g *gridtest.Grid, at string) {
	t.Helper()
	before := g.Member(at).Status().Ceiling
	for end := time.Now().Add(10 * time.Second); !g.Member(at).Status().Ceiling.After(before); {
		if time.Now().After(end) {
			t.Fatal("the ceiling is not raised")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestTwoGivenUpClaims: two of three voters give up their claim for the third one, which starts again, and is lost
// before it has taken the record. The two are a majority, and continue without it.
func TestTwoGivenUpClaims(t *testing.T) {
	t.Parallel()
	for range 5 { // in a grid where the leader's log is not the longest once, it rarely is later
		lost := false
		synctest.Test(t, func(t *testing.T) { lost = continueWithoutTheLongestLog(t) })
		if lost {
			return
		}
	}
	t.Fatal("the leader's log is the longest in none of five grids")
}

// continueWithoutTheLongestLog reports false if the leader's log is not the longest.
func continueWithoutTheLongestLog(t *testing.T) bool {
	s, ids, log := newAnchorStore(), newChecker(t), &recorder{}
	g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true, Change: func(_ string, c *grid.Config) {
		c.Anchor, c.Partitions, c.Logger = s, 3, log.logger()
	}})
	ids.caller("web").must(create(t, g.Client("web"), "orders", 0), 10)
	if !losesTheLongestLog(t, g, s) {
		s.away.Store(false)
		return false
	}
	if n := log.count(gaveUpLine); n != 2 {
		t.Errorf("%d members gave their claim up", n)
	}
	g.Network.HealAll()
	s.away.Store(false)
	awaitReady(t, g, 150*time.Second)
	ids.caller("new").must(create(t, g.Client("new"), "orders", 0), 10)
	for _, m := range g.Running() {
		ids.caller(m).must(create(t, g.Member(m), "orders", 0), 10)
	}
	return true
}

// losesTheLongestLog cuts the leader and the others off from each other while it proposes a raise. It is killed, starts
// again without the store, and ends 40 s later. It reports false if another member leads then, since the raise came
// before or after that.
func losesTheLongestLog(t *testing.T, g *gridtest.Grid, s *anchorStore) bool {
	time.Sleep(10 * time.Second)
	lost := g.Leader()
	one := other(g, lost)
	two := other(g, lost, one)
	awaitRaise(t, g, lost)
	time.Sleep(500 * time.Millisecond)
	for _, pair := range [][2]string{{one, two}, {lost, one}, {lost, two}} {
		g.Network.Cut(pair[0], pair[1])
	}
	time.Sleep(1600 * time.Millisecond)
	g.Crash(lost)
	g.Network.Heal(lost, one)
	g.Network.Heal(lost, two)
	s.away.Store(true)
	return g.TryMember(within(t, 40*time.Second), lost) != nil
}

// TestVotersOfTwoClaims: two of three voters continue under another claim without the third one, and their leader is
// lost when that one is reached again. The other two are a majority, and refuse each other's claims.
func TestVotersOfTwoClaims(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, ids := newAnchorStore(), newChecker(t)
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true, Change: func(_ string, c *grid.Config) {
			c.Anchor, c.Partitions = s, 3
		}})
		ids.caller("web").must(create(t, g.Client("web"), "orders", 0), 10)
		time.Sleep(10 * time.Second)
		lost := g.Leader()
		behind := other(g, lost)
		kept := other(g, lost, behind)
		own := create(t, g.Member(behind), "own", 0)
		ids.caller("own").must(own, 10)
		g.Network.Cut(behind, lost)
		g.Network.Cut(behind, kept)
		g.Crash(lost, kept)
		g.StartMembers(lost, kept)
		eventually(t, time.Minute, "the grid continues", g.Member(kept).Ready)
		if g.Member(kept).Stats().Leads {
			lost = kept
		}
		g.Crash(lost)
		g.Network.HealAll()
		awaitReady(t, g, 150*time.Second)
		ids.caller("new").must(create(t, g.Client("new"), "orders", 0), 10)
		ids.caller("own").must(own, 10)
	})
}

// TestLeadOfAGivenUpClaim: the third voter has given up its claim and followed the restarted leader, which cannot take
// the record since the store is away. When that one is killed and starts again, the third one is elected, whose log
// ends under the claim that it gave up. It leads like one that is not registered, and both continue when the store is
// back.
func TestLeadOfAGivenUpClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, ids := newAnchorStore(), newChecker(t)
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true, Change: func(_ string, c *grid.Config) {
			c.Anchor, c.Partitions = s, 3
		}})
		ids.caller("web").must(create(t, g.Client("web"), "orders", 0), 10)
		time.Sleep(10 * time.Second)
		lead := killBesideALateVoter(g)
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
