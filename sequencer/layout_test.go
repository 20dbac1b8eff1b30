package sequencer

import (
	"errors"
	"github.com/snowgrid/snowgrid/internal/long"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/internal/clustertime"
)

func TestLayoutTable(t *testing.T) {
	for _, tc := range []struct {
		nodes    int
		nodeBits uint8
		counters int64
	}{
		{128, 7, 65536},
		{256, 8, 32768},
		{512, 9, 16384},
		{1024, 10, 8192},
		{2048, 11, 4096},
		{4096, 12, 2048},
		{8192, 13, 1024},
	} {
		l, err := layoutFor(Layout{}, tc.nodes)
		if err != nil {
			t.Fatalf("layoutFor(%d): %v", tc.nodes, err)
		}
		if l.nodeBits != tc.nodeBits || l.nodeBits+l.counterBits != 23 {
			t.Errorf("layoutFor(%d) = %+v, want %d node bits of 23", tc.nodes, l, tc.nodeBits)
		}
		if l.nodes() != tc.nodes || l.counters() != tc.counters {
			t.Errorf("layoutFor(%d): %d nodes with %d counters, want %d", tc.nodes, l.nodes(), l.counters(), tc.counters)
		}
	}
}

func TestLayoutRoundsEveryNodeCountUp(t *testing.T) {
	want := minWholeNodes
	for nodes := minWholeNodes; nodes <= maxNodes; nodes++ {
		if nodes > want {
			want *= 2
		}
		l, err := layoutFor(Layout{}, nodes)
		if err != nil {
			t.Fatalf("layoutFor(%d): %v", nodes, err)
		}
		if l.nodes() != want {
			t.Fatalf("layoutFor(%d) has %d nodes, want %d", nodes, l.nodes(), want)
		}
		top := NodeID(nodes - 1)
		if _, node, _ := l.decompose(l.compose(10_000, top, 100)); node != top {
			t.Fatalf("with %d nodes, node %d comes back as %d", nodes, top, node)
		}
	}
	if l, err := layoutFor(Layout{}, 0); err != nil || l.nodes() != maxNodes {
		t.Errorf("layoutFor(0) = %d nodes, %v; want %d", l.nodes(), err, maxNodes)
	}
}

func TestLayoutRefusesOtherNodeCounts(t *testing.T) {
	for nodes, parts := range map[int][]string{
		math.MinInt: {"128", "8192"},
		-1:          {"-1 nodes", "128", "8192"},
		1:           {"1 nodes", "128", "8192"},
		127:         {"127 nodes", "128", "8192"},
		8193:        {"8193 nodes", "8192", "several sequencers"},
		math.MaxInt: {"8192"},
	} {
		_, err := layoutFor(Layout{}, nodes)
		if !errors.Is(err, ErrInvalidConfig) {
			t.Errorf("layoutFor(%d) = %v, want ErrInvalidConfig", nodes, err)
			continue
		}
		for _, part := range parts {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("layoutFor(%d): %q does not say %q", nodes, err, part)
			}
		}
	}
}

func TestLayoutKeepsEveryNodeAndEveryCounter(t *testing.T) {
	for _, l := range allLayouts(t) {
		topNode, topCounter := NodeID(l.nodes()-1), uint32(l.counters()-1)
		for node := range NodeID(l.nodes()) {
			mustKeep(t, l, 10_000, node, topCounter)
		}
		for counter := range topCounter + 1 {
			mustKeep(t, l, 10_000, topNode, counter)
		}
		mustKeep(t, l, 0, 0, 0)
		mustKeep(t, l, l.end()-1, topNode, topCounter)
		if got, want := l.compose(l.end()-1, topNode, topCounter), ID(1<<l.bits-1); got != want {
			t.Errorf("%+v: the last ID is %d, want %d", l, got, want)
		}
	}
}

// The field boundaries as masks, for every layout: timestamp, node and counter
// cover all bits of an ID and share none.
func TestLayoutFieldsCoverTheID(t *testing.T) {
	for _, l := range allLayouts(t) {
		timeMask := l.compose(l.end()-1, 0, 0)
		nodeMask := l.compose(0, NodeID(l.nodes()-1), 0)
		counterMask := l.compose(0, 0, uint32(l.counters()-1))
		if want := uint64(1)<<l.bits - uint64(1)<<l.lowBits; uint64(timeMask) != want {
			t.Errorf("%+v: timestamp mask %#x, want %#x", l, uint64(timeMask), want)
		}
		if timeMask|nodeMask|counterMask != 1<<l.bits-1 || timeMask&nodeMask|timeMask&counterMask|nodeMask&counterMask != 0 {
			t.Errorf("%+v: masks %#x, %#x, %#x", l, uint64(timeMask), nodeMask, counterMask)
		}
		// All IDs that are negative or have more bits lie behind the last.
		for _, beyond := range []ID{math.MinInt64, -1, maxID} {
			if offset, _, _ := l.decompose(beyond); offset < l.end() && (beyond < 0 || l.bits < 63) {
				t.Errorf("%+v: %d has offset %d, before the end", l, beyond, offset)
			}
		}
	}
}

// Two adjacent nodes that use up the same millisecond, and continue in the next one, have
// different IDs throughout.
func TestExpandNeverSpillsIntoTheNode(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	for _, l := range allLayouts(t) {
		first := int64(10_000) << l.counterBits
		for _, node := range []NodeID{6, 7} {
			last := ID(-1)
			for slot := first; slot < first+l.counters()+2; slot++ {
				id := l.line(node).expand(slot)
				if _, of, _ := l.decompose(id); id <= last || of != node {
					t.Fatalf("%d nodes: ID %d of node %d after %d of node %d", l.nodes(), id, of, last, node)
				}
				last = id
			}
		}
		if offset, node, counter := l.decompose(l.line(6).expand(first + l.counters())); offset != 10_001 || node != 6 ||
			counter != 0 {
			t.Errorf("%d nodes: the slot after a full millisecond is offset %d, node %d, counter %d",
				l.nodes(), offset, node, counter)
		}
	}
}

func TestExpandIsComposeOfTheSlotsFields(t *testing.T) {
	layouts := allLayouts(t)
	rapid.Check(t, func(t *rapid.T) {
		l := rapid.SampledFrom(layouts).Draw(t, "layout")
		offset := clustertime.Span(rapid.Int64Range(0, int64(l.end()-1)).Draw(t, "offset"))
		node := NodeID(rapid.IntRange(0, l.nodes()-1).Draw(t, "node"))
		counter := uint32(rapid.Int64Range(0, l.counters()-1).Draw(t, "counter"))

		id := l.compose(offset, node, counter)
		if id < 0 {
			t.Fatalf("compose(%d, %d, %d) is negative", offset, node, counter)
		}
		if got := l.line(node).expand(int64(offset)*l.counters() + int64(counter)); got != id {
			t.Fatalf("expand = %d, compose = %d", got, id)
		}
		if o, n, c := l.decompose(id); o != offset || n != node || c != counter {
			t.Fatalf("decompose(%d) = %d, %d, %d; want %d, %d, %d", id, o, n, c, offset, node, counter)
		}
	})
}

func TestExpandKeepsTheOrderOfSlots(t *testing.T) {
	layouts := allLayouts(t)
	rapid.Check(t, func(t *rapid.T) {
		l := rapid.SampledFrom(layouts).Draw(t, "layout")
		node := NodeID(rapid.IntRange(0, l.nodes()-1).Draw(t, "node"))
		slot := rapid.Int64Range(0, int64(l.end()<<l.counterBits-2)).Draw(t, "slot")
		if a, b := l.line(node).expand(slot), l.line(node).expand(slot+1); a >= b {
			t.Fatalf("slots %d and %d of node %d give %d and %d", slot, slot+1, node, a, b)
		}
	})
}

// allLayouts returns the layouts of all node counts: of the zero Layout, of the presets, and
// of those at the limits.
func allLayouts(t *testing.T) []layout {
	t.Helper()
	var all []layout
	for _, stated := range []Layout{
		{}, Twitter(), JSSafe(),
		{Bits: 37, LowBits: 5, Nodes: 16}, {Bits: 51, LowBits: 5, Nodes: 16},
		{Bits: 56, LowBits: 24, Nodes: 16}, {Bits: 63, LowBits: 24, Nodes: 8192},
		{Bits: 63, LowBits: 17, Nodes: 8192}, {Bits: 46, LowBits: 14, Nodes: 8192},
	} {
		whole, least := stated.orWhole(), minNodes
		if stated == (Layout{}) {
			least = minWholeNodes
		}
		for nodes := least; nodes <= whole.Nodes; nodes *= 2 {
			l, err := layoutFor(stated, nodes)
			if err != nil {
				t.Fatalf("layoutFor(%v, %d): %v", stated, nodes, err)
			}
			if l.whole() != whole || l.nodes() != nodes {
				t.Fatalf("layoutFor(%v, %d) is %d nodes of %v", stated, nodes, l.nodes(), l.whole())
			}
			all = append(all, l)
		}
	}
	return all
}

// mustKeep checks that an ID's parts come back from it.
func mustKeep(t *testing.T, l layout, offset clustertime.Span, node NodeID, counter uint32) {
	t.Helper()
	o, n, c := l.decompose(l.compose(offset, node, counter))
	if o != offset || n != node || c != counter {
		t.Fatalf("%+v: (%d, %d, %d) comes back as (%d, %d, %d)", l, offset, node, counter, o, n, c)
	}
}
