package grid

import (
	"encoding/json"
	"hash/crc32"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/hashicorp/memberlist"

	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/wire"
)

const fuzzedIncarnation = "0123456789abcdef-fedcba9876543210"

// FuzzIdentityFile: what is accepted as a member's identity is read again as the same
// identity once it is written again.
func FuzzIdentityFile(f *testing.F) {
	id := &identity{Member: "0123456789abcdef", Grid: roster.GridID{1}, Forming: true,
		Accepted: founding{Founder: "fedcba9876543210", Grid: roster.GridID{1}}}
	for _, id := range []*identity{id, {Member: "0123456789abcdef"}} {
		data, err := id.encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, content := range []string{`{}`, `{"format":1}`, `{"format":2}`, `{"format":1,"member":"0123456789abcdef","more":[{}]}`} {
		data, err := json.Marshal(sealed{json.RawMessage(content), crc32.ChecksumIEEE([]byte(content))})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		id, err := decodeIdentity(data)
		if err != nil {
			return
		}
		kept, err := id.encode()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := decodeIdentity(kept); err != nil || *again != *id {
			t.Errorf("%q is %+v, and kept as %q %+v, %v", data, id, kept, again, err)
		}
	})
}

// FuzzGossipNode has gossip hear of a node that says anything of itself. Whatever
// it is, this member is itself; what is understood is said again in the same way.
func FuzzGossipNode(f *testing.F) {
	for _, p := range []peer{
		{},
		{Raft: "10.0.0.1:7947", API: "10.0.0.1:7948", Durable: true, Grid: roster.GridID{1}},
		{Grid: roster.GridID{2}, Leaving: true, Left: roster.GridID{1}.String()},
	} {
		meta, err := wire.Encode(wire.MsgPack, p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(fuzzedIncarnation, meta)
	}
	f.Add("nobody", []byte("\xc0"))
	f.Add(fuzzedIncarnation, []byte("\x82\xa3api\xa1a\xa4zone\x81\xa1x\x91\xc0"))
	f.Fuzz(func(t *testing.T, name string, meta []byte) {
		g := hearing()
		node := &memberlist.Node{Name: name, Addr: net.IPv4(10, 0, 0, 2), Port: 7946, Meta: meta}
		_ = g.NotifyAlive(node)
		_ = g.NotifyMerge([]*memberlist.Node{node})
		g.NotifyJoin(node)
		g.NotifyUpdate(node)
		g.NotifyMsg(meta)
		g.MergeRemoteState(meta, true)
		for _, p := range g.peers() {
			if err := p.Incarnation.Check(); err != nil || p.Grid != g.own && !p.Grid.IsZero() && p.Incarnation != g.m.self {
				t.Errorf("%+v is a peer, %v", p, err)
			}
			said, err := wire.Encode(wire.MsgPack, p)
			again, readErr := readPeer(&memberlist.Node{Name: name, Addr: node.Addr, Port: node.Port, Meta: said})
			if again.noted = p.noted; err != nil || readErr != nil || again != p {
				t.Errorf("%+v is said again as %+v, %v, %v", p, again, err, readErr)
			}
		}
		if g.NotifyLeave(node); len(g.peers()) > 0 {
			t.Errorf("left behind: %+v", g.peers())
		}
	})
}

// hearing returns the gossip of a member of a grid, without a network.
func hearing() *gossip {
	m := newMember(Config{Logger: slog.New(slog.DiscardHandler)})
	m.life.Stop()
	m.self = "aaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb"
	return &gossip{m: m, own: roster.GridID{1}, alive: map[roster.Incarnation]peer{}, strangers: map[stranger]*sighting{}}
}

// TestDecodersAllocateInProportion: what announces more than it brings costs no
// more memory than what it brings. Those of the API are looked at in package wire.
func TestDecodersAllocateInProportion(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for what, decode := range map[string]func(){
		"identity": func() { _, _ = decodeIdentity([]byte(`{"identity":{"member":"` + long + `"},"crc32":5}`)) },
		"node": func() {
			_, _ = readPeer(&memberlist.Node{Name: fuzzedIncarnation, Meta: []byte("\x81\xa4raft\xdb\xff\xff\xff\xff" + long)})
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
