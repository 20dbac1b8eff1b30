package gossip

import (
	"net"
	"testing"

	"github.com/hashicorp/memberlist"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestGossipOfALaterVersion: a member that says more of itself than this version knows
// is a peer like any other.
func TestGossipOfALaterVersion(t *testing.T) {
	g := hearing()
	type later struct {
		Peer
		Zone  string         `json:"zone"`
		Speak map[string]int `json:"speak"`
	}
	want := Peer{Raft: "10.0.0.1:7947", API: "10.0.0.1:7948", Durable: true, Grid: g.own}
	meta, err := wire.Encode(wire.MsgPack, later{want, "eu-1a", map[string]int{"min": 1, "max": 3}})
	if err != nil {
		t.Fatal(err)
	}
	g.NotifyJoin(&memberlist.Node{Name: fuzzedNode, Addr: net.IPv4(10, 0, 0, 2), Port: 7946, Meta: meta})
	got, found := g.Find(func(p Peer) bool { return p.Incarnation == roster.Incarnation(fuzzedNode) })
	want.Incarnation, want.Gossip, want.noted = fuzzedNode, "10.0.0.2:7946", got.noted
	if !found || got != want {
		t.Errorf("the peers are %+v, want %+v", g.Peers(), want)
	}
}
