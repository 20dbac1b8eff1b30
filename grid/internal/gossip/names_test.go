package gossip

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/hashicorp/memberlist"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

func TestCheckName(t *testing.T) {
	for name, reason := range map[string]string{
		"web-1": "", "web_1.example.ORG": "", strings.Repeat("x", maxName): "",
		"": "1 to 63", strings.Repeat("x", maxName+1): "1 to 63", "a b": `" "`, "a\n": `"\n"`, "caf\u00e9": "letters, digits",
	} {
		err := CheckName(name)
		if (err == nil) != (reason == "") || err != nil && !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: %v, want %q", name, err, reason)
		}
	}
	for host, want := range map[string]string{"web-1": "web-1", "my host\u00e9": "my-host-",
		strings.Repeat("x", 70): strings.Repeat("x", maxName)} {
		if got := NameOf(host); got != want || CheckName(got) != nil {
			t.Errorf("host %q is called %q, want %q", host, got, want)
		}
	}
}

// TestNamesOutliveTheirMembers: a member is still called by its name after its end, the
// number of names is bounded, and a name that would not fit a table is not taken over.
func TestNamesOutliveTheirMembers(t *testing.T) {
	g := hearing()
	node := func(i int, name string) (*memberlist.Node, roster.Incarnation) {
		meta, err := wire.Encode(wire.MsgPack, Peer{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		inc := fmt.Sprintf("%016x-%016x", i, i)
		return &memberlist.Node{Name: inc, Addr: net.IPv4(10, 0, 0, 2), Port: 7946, Meta: meta}, roster.Incarnation(inc)
	}
	first, inc := node(1, "web-1")
	g.NotifyJoin(first)
	g.NotifyLeave(first)
	if got := g.Describe(inc); got != "web-1 ("+string(inc)+")" {
		t.Errorf("after its end the member is called %q", got)
	}
	foul, other := node(2, "a\nb")
	g.NotifyJoin(foul)
	if got := g.Describe(other); got != string(other) {
		t.Errorf("a member with a name of two lines is called %q", got)
	}
	var last roster.Incarnation
	for i := 3; i < 3*rememberedNames; i++ {
		n, inc := node(i, "x")
		g.NotifyJoin(n)
		g.NotifyLeave(n)
		last = inc
	}
	if len(g.names) > rememberedNames+1 || g.Name(last) != "x" {
		t.Errorf("%d names are remembered, want at most %d and the last one", len(g.names), rememberedNames+1)
	}
	if (*Gossip)(nil).Describe(inc) != string(inc) {
		t.Error("a member without gossip has no incarnation")
	}
}

// TestLongAddressesLeaveNoRoomForAName: the description of a member that does not fit is
// sent without its name.
func TestLongAddressesLeaveNoRoomForAName(t *testing.T) {
	g := hearing()
	about := Peer{Raft: strings.Repeat("r", 253) + ":7947", API: strings.Repeat("a", 150) + ":7948",
		Name: strings.Repeat("n", maxName)}
	g.cfg.About = func() Peer { return about }
	var got Peer
	if err := wire.DecodeTolerant(wire.MsgPack, g.NodeMeta(512), &got); err != nil || got.Raft != about.Raft ||
		got.API != about.API || got.Name != "" {
		t.Errorf("%+v, %v", got, err)
	}
	if err := wire.DecodeTolerant(wire.MsgPack, g.NodeMeta(600), &got); err != nil || got.Name != about.Name {
		t.Errorf("with room: %+v, %v", got, err)
	}
}
