package grid_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/grid/internal/transport"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// memberlist's messages, as far as they are forged here.
const (
	suspectMsg   = 3
	aliveMsg     = 4
	deadMsg      = 5
	pushPullMsg  = 6
	encryptMsg   = 10
	labelMsg     = 244
	forgedMember = "eeeeeeeeeeeeeeee-eeeeeeeeeeeeeeee"
)

var (
	gossipKey = []byte(strings.Repeat("k", 32))
	wrongKey  = []byte(strings.Repeat("w", 32))
)

type (
	aliveNode struct {
		Incarnation uint32
		Node        string
		Addr        []byte
		Port        uint16
		Meta, Vsn   []byte
	}
	deadNode struct {
		Incarnation uint32
		Node, From  string
	}
	pushHeader struct {
		Nodes, UserStateLen int
		Join                bool
	}
	pushNode struct {
		Name        string
		Addr        []byte
		Port        uint16
		Meta        []byte
		Incarnation uint32
		State       int
		Vsn         []byte
	}
)

// message encodes values after the byte for their type.
func message(kind byte, values ...any) []byte {
	b := bytes.NewBuffer([]byte{kind})
	for _, v := range values {
		_ = codec.NewEncoder(b, &codec.MsgpackHandle{}).Encode(v)
	}
	return b.Bytes()
}

// labelled puts a grid's name before a message.
func labelled(label string, b []byte) []byte {
	return append(append([]byte{labelMsg, byte(len(label))}, label...), b...)
}

// sealed encrypts as memberlist does with a key, bound to what else is known.
func sealed(key, b []byte, bound string) []byte {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	nonce := make([]byte, gcm.NonceSize())
	return gcm.Seal(append([]byte{1}, nonce...), nonce, b, []byte(bound))
}

// sealedStream encrypts a message of a stream.
func sealedStream(key, b []byte, label string) []byte {
	head := binary.BigEndian.AppendUint32([]byte{encryptMsg}, uint32(1+12+len(b)+16))
	return append(head, sealed(key, b, string(head)+label)...)
}

// forger is a host that says things about members of a grid.
type forger struct {
	t    *testing.T
	host *gridtest.Host
	to   string // a member's gossip address
}

// packet sends a datagram.
func (f forger) packet(b []byte) {
	f.t.Helper()
	socket, err := f.host.ListenPacket(f.host.Name() + ":0")
	if err != nil {
		f.t.Fatal(err)
	}
	defer socket.Close()
	to, err := net.ResolveUDPAddr("udp", f.to)
	if err != nil {
		f.t.Fatal(err)
	}
	if _, err := socket.WriteTo(b, to); err != nil {
		f.t.Fatal(err)
	}
}

// stream says b on a stream of its own, after the greeting, and waits for its end.
func (f forger) stream(b []byte) {
	f.t.Helper()
	conn, err := f.host.Dial(f.t.Context(), f.to)
	if err != nil {
		f.t.Fatal(err)
	}
	defer conn.Close()
	_, _ = conn.Write(append(transport.Greeting{Name: "snowgrid"}.Encode(), b...))
	began := time.Now()
	for buf := make([]byte, 4096); err == nil; {
		_, err = conn.Read(buf)
	}
	if took := time.Since(began); took > 5*time.Second {
		f.t.Errorf("a forged stream lasted %v", took)
	}
}

// forgeries are messages that would take a member out, or bring one in.
func forgeries(victim roster.Incarnation, id roster.GridID) (packets, streams map[string][]byte) {
	meta, err := wire.Encode(wire.MsgPack, map[string]any{"raft": "evil:7947", "api": "evil:7948", "grid": id.String()})
	if err != nil {
		panic(err)
	}
	addr, version := []byte{10, 0, 0, 99}, []byte{1, 5, 2, 0, 0, 0}
	packets = map[string][]byte{
		"a new member": message(aliveMsg, aliveNode{7, forgedMember, addr, 7946, meta, version}),
		"a dead one":   message(deadMsg, deadNode{1 << 20, string(victim), "accuser"}),
		"a suspect":    message(suspectMsg, deadNode{1 << 20, string(victim), "accuser"}),
		"a move":       message(aliveMsg, aliveNode{1 << 20, string(victim), addr, 7946, meta, version}),
	}
	streams = map[string][]byte{
		"a join": message(pushPullMsg, pushHeader{Nodes: 1, Join: true},
			pushNode{forgedMember, addr, 7946, meta, 7, 0, version}),
		"a leave": message(pushPullMsg, pushHeader{Nodes: 1}, pushNode{string(victim), addr, 7946, meta, 1 << 20,
			3, version}),
	}
	return packets, streams
}

// seenBy is a member's view of the others.
type seenBy struct {
	Peers   []roster.Incarnation
	Foreign int
	Members []string
}

func lookAt(m *grid.Member) (s seenBy) {
	s.Peers, s.Foreign = m.Peers()
	for _, member := range m.Status().Members {
		s.Members = append(s.Members, member.Incarnation+" "+member.Gossip+" "+member.API)
	}
	return s
}

// keyedGrid starts three members whose gossip has a key, and a process without it.
func keyedGrid(t *testing.T) (*gridtest.Grid, forger) {
	g := gridtest.Start(t, gridtest.Config{Members: 3, Change: func(_ string, c *grid.Config) {
		c.Security.GossipKey = gossipKey
	}})
	return g, forger{t, g.Network.Host("evil"), g.Member("m1").Addrs().Gossip}
}

// TestForgedGossipChangesNothing sends, without the key, whatever memberlist would
// act on, and wants every member to see what it saw before.
func TestForgedGossipChangesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, evil := keyedGrid(t)
		victim := roster.Incarnation(g.Member("m2").Status().Answering)
		before := map[string]seenBy{}
		for _, name := range g.Running() {
			before[name] = lookAt(g.Member(name))
		}
		packets, streams := forgeries(victim, grid.RosterOf(g.Member("m1")).Grid)
		for _, b := range packets {
			for _, form := range [][]byte{
				b, labelled("snowgrid", b), sealed(wrongKey, b, "snowgrid"),
				labelled("snowgrid", sealed(wrongKey, b, "snowgrid")),
				labelled("snowgrid", sealed(gossipKey, b, "another")), // as taken from another grid that has the key
				labelled("another", sealed(gossipKey, b, "another")),
				labelled("snowgrid", sealed(gossipKey, b, "snowgrid"))[:30],
			} {
				evil.packet(form)
			}
		}
		for _, b := range streams {
			for _, form := range [][]byte{
				b, labelled("snowgrid", b), labelled("snowgrid", sealedStream(wrongKey, b, "snowgrid")),
				labelled("snowgrid", sealedStream(gossipKey, b, "another")),
				labelled("snowgrid", sealed(gossipKey, b, "snowgrid")),
				sealedStream(gossipKey, b, "snowgrid"),
			} {
				evil.stream(form)
			}
		}
		for range 10 {
			time.Sleep(time.Second)
			for _, name := range g.Running() {
				if now := lookAt(g.Member(name)); !reflect.DeepEqual(now, before[name]) {
					t.Fatalf("%s sees %+v, and saw %+v", name, now, before[name])
				}
			}
		}
	})
}

// TestForgedGossipWithTheKey shows that the forgeries are well made: with the key
// they are believed.
func TestForgedGossipWithTheKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, evil := keyedGrid(t)
		m := g.Member("m1")
		packets, streams := forgeries(roster.Incarnation(g.Member("m2").Status().Answering), grid.RosterOf(m).Grid)
		for what, send := range map[string]func(){
			"packet": func() { evil.packet(labelled("snowgrid", sealed(gossipKey, packets["a new member"], "snowgrid"))) },
			"stream": func() { evil.stream(labelled("snowgrid", sealedStream(gossipKey, streams["a join"], "snowgrid"))) },
		} {
			sees := func() bool {
				peers, _ := m.Peers()
				return slices.Contains(peers, forgedMember)
			}
			within(t, time.Minute, what+": no member is seen", func() bool { return !sees() })
			time.Sleep(time.Minute) // memberlist has forgotten the one that never was
			send()
			within(t, 200*time.Millisecond, what+": the forged member is seen", sees)
		}
	})
}
