package gossip

import (
	"log/slog"
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/hashicorp/memberlist"
	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

const fuzzedNode = "0123456789abcdef-fedcba9876543210"

// FuzzGossipNode gives gossip a node with any metadata. This member stays itself, and
// accepted metadata encodes to the same bytes again.
func FuzzGossipNode(f *testing.F) {
	for _, p := range []Peer{
		{},
		{Raft: "10.0.0.1:7947", API: "10.0.0.1:7948", Durable: true, Grid: roster.GridID{1}},
		{Grid: roster.GridID{2}, Leaving: true, Left: roster.GridID{1}.String(), Name: "web-1"},
		{Name: "a\nb"},
	} {
		meta, err := wire.Encode(wire.MsgPack, p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(fuzzedNode, meta)
	}
	f.Add("unknown", []byte("\xc0"))
	f.Add(fuzzedNode, []byte("\x82\xa3api\xa1a\xa4zone\x81\xa1x\x91\xc0"))
	f.Fuzz(func(t *testing.T, name string, meta []byte) {
		g := hearing()
		node := &memberlist.Node{Name: name, Addr: net.IPv4(10, 0, 0, 2), Port: 7946, Meta: meta}
		_ = g.NotifyAlive(node)
		_ = g.NotifyMerge([]*memberlist.Node{node})
		g.NotifyJoin(node)
		g.NotifyUpdate(node)
		g.NotifyMsg(meta)
		g.MergeRemoteState(meta, true)
		for _, p := range g.Peers() {
			if err := p.Incarnation.Check(); err != nil || p.Grid != g.own && !p.Grid.IsZero() && p.Incarnation != g.cfg.Self {
				t.Errorf("%+v is a peer, %v", p, err)
			}
			said, err := wire.Encode(wire.MsgPack, p)
			again, readErr := readPeer(&memberlist.Node{Name: name, Addr: node.Addr, Port: node.Port, Meta: said})
			if again.noted = p.noted; err != nil || readErr != nil || again != p {
				t.Errorf("%+v is said again as %+v, %v, %v", p, again, err, readErr)
			}
		}
		if g.NotifyLeave(node); len(g.Peers()) > 0 {
			t.Errorf("left behind: %+v", g.Peers())
		}
	})
}

// hearing returns the gossip of a member of a grid, without a network.
func hearing() *Gossip {
	clock := handles.NewExactClock()
	return silent(Config{
		Self: "aaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb", Grid: roster.GridID{1}, State: state.New(clock, clock),
		Log: slog.New(slog.DiscardHandler),
	})
}

// TestNodesAllocateInProportion: what announces more than it brings costs no
// more memory than what it brings.
func TestNodesAllocateInProportion(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for what, decode := range map[string]func(){
		"node": func() {
			_, _ = readPeer(&memberlist.Node{Name: fuzzedNode, Meta: []byte("\x81\xa4raft\xdb\xff\xff\xff\xff" + long)})
		},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		decode()
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 8*uint64(len(long)) {
			t.Errorf("%s: %d bytes of memory for %d", what, n, len(long))
		}
	}
}
