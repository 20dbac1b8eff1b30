package grid

import (
	"slices"
	"testing"

	"github.com/snowgrid/snowgrid/grid/internal/gossip"
	"github.com/snowgrid/snowgrid/internal/leader"
)

// TestSeenPeers: a list of gossip is converted once, and another one is again, also if it is
// of the same length.
func TestSeenPeers(t *testing.T) {
	var s seenPeers
	lists := [][]gossip.Peer{
		nil,
		{{Incarnation: "a", API: "a:1"}, {Incarnation: "b", API: "b:1", Durable: true}},
		{{Incarnation: "a", API: "a:1"}, {Incarnation: "b", API: "b:1", Durable: true, Leaving: true}},
		{{Incarnation: "a", API: "a:1"}},
		nil,
	}
	for _, list := range lists {
		var want []leader.Peer
		for _, p := range list {
			want = append(want, leader.Peer{Incarnation: p.Incarnation, API: p.API, Durable: p.Durable, Leaving: p.Leaving})
		}
		first := s.of(list)
		if !slices.Equal(first, want) {
			t.Errorf("peers %+v, want %+v", first, want)
		}
		if allocs := testing.AllocsPerRun(10, func() { s.of(list) }); allocs > 0 {
			t.Errorf("the same list of %d takes %v allocations", len(list), allocs)
		}
	}
}
