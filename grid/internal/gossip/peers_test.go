package gossip

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"

	"github.com/hashicorp/memberlist"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// node returns a live node of a grid, as memberlist knows it.
func node(t *testing.T, n int, of roster.GridID) *memberlist.Node {
	t.Helper()
	meta, err := wire.Encode(wire.MsgPack, Peer{API: fmt.Sprintf("10.0.0.%d:7948", n), Grid: of})
	if err != nil {
		t.Fatal(err)
	}
	return &memberlist.Node{Name: fmt.Sprintf("%016x-%016x", n, 1), Addr: net.IPv4(10, 0, 0, byte(n)), Port: 7946,
		Meta: meta}
}

// TestPeersAreOneSliceUntilAChange: the list is made again when a member comes, goes, says
// something else or is found to be of another grid, and no list that a caller has changes.
func TestPeersAreOneSliceUntilAChange(t *testing.T) {
	g := hearing()
	seen := func() (out []string) {
		for _, p := range g.Peers() {
			out = append(out, p.API)
		}
		return out
	}
	var lists [][]Peer
	for _, c := range []struct {
		what   string
		change func()
		want   []string
	}{
		{"a member", func() { g.NotifyJoin(node(t, 2, g.own)) }, []string{"10.0.0.2:7948"}},
		{"a member before it", func() { g.NotifyJoin(node(t, 1, g.own)) }, []string{"10.0.0.1:7948", "10.0.0.2:7948"}},
		{"one without a grid", func() { g.NotifyJoin(node(t, 3, roster.GridID{})) },
			[]string{"10.0.0.1:7948", "10.0.0.2:7948", "10.0.0.3:7948"}},
		{"it joins another grid", func() { g.NotifyUpdate(node(t, 3, roster.GridID{9})) },
			[]string{"10.0.0.1:7948", "10.0.0.2:7948"}},
		{"one moves", func() {
			moved := node(t, 2, g.own)
			moved.Meta = node(t, 7, g.own).Meta
			g.NotifyUpdate(moved)
		}, []string{"10.0.0.1:7948", "10.0.0.7:7948"}},
		{"one is gone", func() { g.NotifyLeave(node(t, 1, g.own)) }, []string{"10.0.0.7:7948"}},
		{"this member is of another grid", func() { g.SetGrid(roster.GridID{9}) }, nil},
	} {
		var before [][]Peer
		for _, list := range lists {
			before = append(before, slices.Clone(list))
		}
		c.change()
		if got := seen(); !slices.Equal(got, c.want) {
			t.Errorf("%s: peers %v, want %v", c.what, got, c.want)
		}
		for i, list := range lists {
			if !slices.Equal(list, before[i]) {
				t.Errorf("%s: the list of before is %v now, and was %v", c.what, list, before[i])
			}
		}
		first := g.Peers()
		g.NotifyLeave(node(t, 8, g.own)) // of no peer
		if again := g.Peers(); len(first) > 0 && &first[0] != &again[0] {
			t.Errorf("%s: another list without a change", c.what)
		}
		lists = append(lists, first)
	}
}

// TestWhatANodeSaysIsReadAgainWhenItSaysSomethingElse: a member of another grid is refused, whatever
// it was before.
func TestWhatANodeSaysIsReadAgainWhenItSaysSomethingElse(t *testing.T) {
	g := hearing()
	other := roster.GridID{9}
	for _, c := range []struct {
		of   roster.GridID
		want error
	}{
		{g.own, nil}, {g.own, nil}, {other, errForeign}, {roster.GridID{}, nil}, {g.own, nil},
	} {
		n := node(t, 1, c.of)
		if err := g.NotifyAlive(n); !errors.Is(err, c.want) {
			t.Errorf("of %v: alive: %v, want %v", c.of, err, c.want)
		}
		if err := g.NotifyMerge([]*memberlist.Node{n}); !errors.Is(err, c.want) {
			t.Errorf("of %v: merge: %v, want %v", c.of, err, c.want)
		}
		if c.want == nil {
			g.NotifyUpdate(n)
		}
	}
}
