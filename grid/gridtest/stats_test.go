package gridtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestStatsShowTheUseOfSequencers: the members together know how many IDs of a sequencer
// were issued, by clients that still hold a logical node and by those that have left, and
// they count what happens to members, partitions, requests and replicas.
func TestStatsShowTheUseOfSequencers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3})
		stays, leaves := g.Client("stays"), g.Client("leaves")
		one, two := create(t, stays, "orders", 0), create(t, leaves, "orders", 0)
		ids := make([]sequencer.ID, 1000)
		for _, s := range []*sequencer.Sequencer{one, two} {
			if _, err := s.Fill(within(t, time.Minute), ids); err != nil {
				t.Fatal(err)
			}
		}
		if err := leaves.Leave(within(t, time.Minute)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second) // renewals are due
		if got := usedIDs(g, "orders"); got != 2000 {
			t.Errorf("holders reported %d IDs, 2000 were issued", got)
		}
		owner := g.Member(g.OwnerOf("orders")).Stats()
		if owner.Requests.Attaches.Count != 2 || owner.Replication.Calls.Count == 0 || owner.Requests.Connections == 0 ||
			owner.Requests.Accepted == 0 {
			t.Errorf("the owner's stats: %+v, %+v", owner.Requests, owner.Replication)
		}
		if n := answered(owner, "/v1/create", "ok"); n != 2 {
			t.Errorf("%d creates that attach were counted", n)
		}
		if clocks := g.Member(g.Leader()).Stats().VoterClocks; len(clocks) != 3 {
			t.Errorf("the leader knows the clocks %v", clocks)
		}
		checkStatsAfterCrash(t, g)
	})
}

// checkStatsAfterCrash crashes the owner of orders and checks that the others tell of it.
func checkStatsAfterCrash(t *testing.T, g *gridtest.Grid) {
	t.Helper()
	owned := 0
	for _, m := range g.Member("m1").Status().Members {
		if m.Incarnation == g.Member(g.OwnerOf("orders")).Stats().Incarnation {
			owned = m.Partitions
		}
	}
	g.Crash(g.OwnerOf("orders"))
	time.Sleep(30 * time.Second)
	for _, name := range g.Running() {
		s := g.Member(name).Stats()
		if p := s.Partitions; p.Takeovers < uint64(owned) || p.Losses > 0 || p.MembersRemoved != 1 {
			t.Errorf("%s counted %+v after the owner of %d partitions crashed", name, p, owned)
		}
		if s.Replication.Lag > 0 {
			t.Errorf("%s has a replication lag of %v", name, s.Replication.Lag)
		}
	}
}

// usedIDs returns the IDs of a name that all members together know of.
func usedIDs(g *gridtest.Grid, name string) (ids uint64) {
	for _, member := range g.Running() {
		for _, u := range g.Member(member).Stats().Holders.Sequencers {
			if u.Name == name {
				ids += u.IDs
			}
		}
	}
	return ids
}

// answered returns how many requests of a path a member has answered with a code.
func answered(s grid.Stats, path, code string) (n uint64) {
	for _, r := range s.Requests.ByCode {
		if r.Path == path && r.Code == code {
			n += r.Count
		}
	}
	return n
}
