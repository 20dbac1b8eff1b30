package transport_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
)

// startGuarded starts a Raft server behind the guard. Without servers it knows none.
func startGuarded(t *testing.T, n *gridtest.Network, name string, servers ...raft.Server) *raft.Raft {
	t.Helper()
	transport, begin := transport.GuardForTest(transport.NewRaft(layer(t, n, name, gridID, nil), addresses{},
		hclog.NewNullLogger()))
	rc := raft.DefaultConfig()
	rc.LocalID, rc.Logger = raft.ServerID(name), hclog.NewNullLogger()
	rc.HeartbeatTimeout, rc.ElectionTimeout = 500*time.Millisecond, 500*time.Millisecond
	rc.LeaderLeaseTimeout, rc.CommitTimeout = 250*time.Millisecond, 20*time.Millisecond
	store, snapshots := raft.NewInmemStore(), raft.NewDiscardSnapshotStore()
	if len(servers) > 0 {
		if err := raft.BootstrapCluster(rc, store, store, snapshots, transport,
			raft.Configuration{Servers: servers}); err != nil {
			t.Fatal(err)
		}
	}
	node, err := raft.NewRaft(rc, &applied{}, store, store, snapshots, transport)
	if err != nil {
		t.Fatal(err)
	}
	begin(node, raft.ServerID(name))
	t.Cleanup(func() { _ = node.Shutdown().Error() })
	return node
}

// voter is a server with a vote.
func voter(name string) raft.Server {
	return raft.Server{ID: raft.ServerID(name), Address: dialTo(name)}
}

// TestVoteWithAnOldConfiguration: a voter is cut off while others get votes, and then the
// leader dies. Those that are left are a majority, and elect a leader, although the one
// that was cut off knows the candidates without a vote, or not at all.
func TestVoteWithAnOldConfiguration(t *testing.T) {
	for _, c := range []struct {
		what string
		to   []string // changes that do not reach the one that is cut off
		// known are those of them that it knows without a vote.
		known []string
	}{
		{"one that is unknown got a vote", []string{"c"}, nil},
		{"one without a vote got one", []string{"c"}, []string{"c"}},
		{"two that are unknown got votes", []string{"c", "d"}, nil},
		{"one that is known and one that is not", []string{"c", "d"}, []string{"c"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := gridtest.NewNetwork()
				n.SetDelay(time.Millisecond)
				nodes := map[string]*raft.Raft{"c": startGuarded(t, n, "c"), "d": startGuarded(t, n, "d")}
				for _, name := range []string{"a", "b"} {
					nodes[name] = startGuarded(t, n, name, voter("a"), voter("b"))
				}
				leader, behind := "a", "b"
				within(t, 10*time.Second, "a leader", func() bool {
					if nodes["b"].State() == raft.Leader {
						leader, behind = "b", "a"
					}
					return nodes[leader].State() == raft.Leader
				})
				for _, name := range c.known {
					if err := nodes[leader].AddNonvoter(raft.ServerID(name), dialTo(name), 0, time.Second).Error(); err != nil {
						t.Fatal(err)
					}
				}
				if err := nodes[leader].Barrier(5 * time.Second).Error(); err != nil { // no later change is possible before
					t.Fatal(err)
				}
				within(t, time.Second, "all entries arrive",
					func() bool { return nodes[behind].LastIndex() == nodes[leader].LastIndex() })
				for _, name := range []string{leader, "c", "d"} {
					n.Cut(name, behind)
				}
				for _, name := range c.to {
					if err := nodes[leader].AddVoter(raft.ServerID(name), dialTo(name), 0, time.Second).Error(); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(100 * time.Millisecond) // all that are left but one know it
				n.Crash(leader)
				_ = nodes[leader].Shutdown().Error()
				time.Sleep(3 * time.Second)
				for _, name := range []string{"c", "d"} { // messages of the dead leader must not arrive
					n.Heal(name, behind)
				}
				within(t, 10*time.Second, "another leader", func() bool {
					return slices.ContainsFunc(append(c.to, behind), func(name string) bool {
						return nodes[name].State() == raft.Leader && nodes[name].VerifyLeader().Error() == nil
					})
				})
			})
		})
	}
}
