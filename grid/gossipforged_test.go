package grid_test

import (
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// seesAll reports whether gossip at every member sees so many members.
func seesAll(g *gridtest.Grid, n int) bool {
	for _, name := range g.Running() {
		if peers, _ := g.Member(name).Peers(); len(peers) != n {
			return false
		}
	}
	return true
}

// accusations are words about a member that it has to answer with a higher number than
// there is.
func accusations(victim roster.Incarnation) (packets [][]byte, stream []byte) {
	const last = math.MaxUint32
	for _, b := range [][]byte{
		message(deadMsg, deadNode{last, string(victim), "accuser"}),
		message(deadMsg, deadNode{last, string(victim), string(victim)}),
		message(suspectMsg, deadNode{last, string(victim), "accuser"}),
	} {
		compound := append([]byte{7, 2, byte(len(b) >> 8), byte(len(b)), byte(len(b) >> 8), byte(len(b))},
			slices.Concat(b, b)...)
		packets = append(packets, labelled("snowgrid", b), labelled("snowgrid", compound))
	}
	addr, version := []byte{10, 0, 0, 99}, []byte{1, 5, 2, 0, 0, 0}
	return packets, message(pushPullMsg, pushHeader{Nodes: 1}, pushNode{string(victim), addr, 7946, nil, last, 2, version})
}

// TestGossipCannotMakeTheLeaderInvisible: a datagram or a stream per member with the
// last number of all about the leader ends neither what gossip sees nor joins.
func TestGossipCannotMakeTheLeaderInvisible(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3})
		leader := g.Leader()
		packets, stream := accusations(roster.Incarnation(g.Member(leader).Status().Answering))
		for _, name := range g.Running() {
			evil := forger{t, g.Network.Host("evil"), g.Member(name).Addrs().Gossip}
			for _, b := range packets {
				evil.packet(b)
			}
			evil.stream(labelled("snowgrid", stream))
		}
		for range 30 {
			time.Sleep(time.Second)
			if !seesAll(g, 3) {
				t.Fatal("not every member sees every other")
			}
		}
		g.StartMembers("m4")
		within(t, 20*time.Second, "a fourth member joins", func() bool { return members(g) == 4 && seesAll(g, 4) })
	})
}
