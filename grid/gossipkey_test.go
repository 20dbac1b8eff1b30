package grid_test

import (
	"bytes"
	"compress/lzw"
	"hash/crc32"
	"math"
	"net"
	"reflect"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"encoding/binary"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// More of memberlist's messages, as far as they are forged here.
const (
	pingMsg         = 0
	indirectPingMsg = 1
	ackMsg          = 2
	compoundMsg     = 7
	userMsg         = 8
	compressMsg     = 9
	nackMsg         = 11
	crcMsg          = 12
	errorMsg        = 13
)

type (
	pingNode struct {
		SeqNo      uint32
		Node       string
		SourceAddr []byte
		SourcePort uint16
		SourceNode string
	}
	indirectPing struct {
		SeqNo      uint32
		Target     []byte
		Port       uint16
		Node       string
		Nack       bool
		SourceAddr []byte
		SourcePort uint16
		SourceNode string
	}
	ackNode struct {
		SeqNo   uint32
		Payload []byte
	}
	compressed struct {
		Algo uint8
		Buf  []byte
	}
	userHeader struct{ UserMsgLen int }
	errorNode  struct{ Error string }
)

// compound puts messages into one.
func compound(messages ...[]byte) []byte {
	b := []byte{compoundMsg, byte(len(messages))}
	for _, m := range messages {
		b = binary.BigEndian.AppendUint16(b, uint16(len(m)))
	}
	return append(b, bytes.Join(messages, nil)...)
}

// unlabelled takes the grid's name off a message.
func unlabelled(b []byte) []byte { return bytes.TrimPrefix(b, labelled("snowgrid", nil)) }

// squeezed compresses a message.
func squeezed(m []byte) []byte {
	var buf bytes.Buffer
	w := lzw.NewWriter(&buf, lzw.LSB, 8)
	_, _ = w.Write(m)
	_ = w.Close()
	return message(compressMsg, compressed{0, buf.Bytes()})
}

// checked puts a checksum before a message.
func checked(m []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{crcMsg}, crc32.ChecksumIEEE(m)), m...)
}

// victim is a host that no member has a reason to contact.
type victim struct {
	ip       []byte
	port     uint16
	contacts atomic.Int64
}

func newVictim(t *testing.T, g *gridtest.Grid) *victim {
	t.Helper()
	host := g.Network.Host("victim")
	socket, err := host.ListenPacket("victim:9")
	if err != nil {
		t.Fatal(err)
	}
	ln, err := host.Listen("victim:9")
	if err != nil {
		t.Fatal(err)
	}
	v := &victim{port: 9, ip: socket.LocalAddr().(*net.UDPAddr).IP.To4()}
	go func() {
		for buf := make([]byte, 1<<16); ; v.contacts.Add(1) {
			if _, _, err := socket.ReadFrom(buf); err != nil {
				return
			}
		}
	}()
	go func() {
		for ; ; v.contacts.Add(1) {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _, _ = socket.Close(), ln.Close() })
	return v
}

// everyMessage has a message of each type that memberlist has, about a member and a host
// that is none.
func everyMessage(of roster.Incarnation, v *victim) map[string][]byte {
	alive := message(aliveMsg, aliveNode{7, forgedMember, v.ip, v.port, nil, []byte{1, 5, 2, 0, 0, 0}})
	dead := message(deadMsg, deadNode{math.MaxUint32, string(of), "accuser"})
	ping := message(pingMsg, pingNode{1, string(of), v.ip, v.port, forgedMember})
	return map[string][]byte{
		"ping":               ping,
		"a ping of any node": message(pingMsg, pingNode{1, "", v.ip, v.port, forgedMember}),
		"indirect ping":      message(indirectPingMsg, indirectPing{1, v.ip, v.port, "", true, v.ip, v.port, forgedMember}),
		"ack":                message(ackMsg, ackNode{1, nil}),
		"nack":               message(nackMsg, ackNode{1, nil}),
		"suspect":            message(suspectMsg, deadNode{1 << 20, string(of), "accuser"}),
		"alive":              alive,
		"a last alive": message(aliveMsg, aliveNode{math.MaxUint32, string(of), v.ip, v.port, nil,
			[]byte{1, 5, 2, 0, 0, 0}}),
		"dead":             dead,
		"compound":         compound(alive, ping, dead),
		"two compounds":    compound(compound(alive, dead)),
		"compressed":       squeezed(alive),
		"compressed dead":  squeezed(compound(dead, alive)),
		"checked":          checked(alive),
		"checked compound": checked(compound(alive, dead)),
		"user":             append(message(userMsg, userHeader{4}), "user"...),
		"error":            message(errorMsg, errorNode{"x"}),
		"push and pull": message(pushPullMsg, pushHeader{Nodes: 1, Join: true},
			pushNode{forgedMember, v.ip, v.port, nil, 7, 0, []byte{1, 5, 2, 0, 0, 0}}),
		"a last push": message(pushPullMsg, pushHeader{Nodes: 1}, pushNode{string(of), v.ip, v.port, nil, math.MaxUint32,
			3, []byte{1, 5, 2, 0, 0, 0}}),
		"nothing":         {},
		"an unknown type": {99, 1, 2, 3},
	}
}

// TestEveryMessageWithoutTheKey sends each type of message in clear text, sealed by another
// key, in a version that no member has, and with another label. No member sees anything, and
// none contacts a host that the messages name.
func TestEveryMessageWithoutTheKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, evil := keyedGrid(t)
		v := newVictim(t, g)
		of := roster.Incarnation(g.Member("m1").Status().Answering)
		before := map[string]seenBy{}
		for _, name := range g.Running() {
			before[name] = lookAt(g.Member(name))
		}
		for _, b := range everyMessage(of, v) {
			version := labelled("snowgrid", sealed(wrongKey, b, "snowgrid"))
			version[10] = 0
			for _, form := range [][]byte{
				b, labelled("snowgrid", b), labelled("another", b), labelled("snowgrid", checked(b)),
				sealed(gossipKey, b, ""), labelled("snowgrid", sealed(wrongKey, b, "snowgrid")), version,
				labelled("snowgrid", sealed(gossipKey, b, "another")),
				labelled("snowgrid", labelled("snowgrid", sealed(gossipKey, b, "snowgrid"))),
			} {
				evil.packet(form)
			}
			for _, form := range [][]byte{
				b, labelled("snowgrid", b), labelled("another", sealedStream(gossipKey, b, "another")),
				labelled("snowgrid", sealedStream(wrongKey, b, "snowgrid")), sealedStream(gossipKey, b, ""),
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
		if n := v.contacts.Load(); n != 0 {
			t.Errorf("members contacted a host that only forged messages name %d times", n)
		}
	})
}

// TestEveryMessageWithTheKey shows that the forgeries are well made, and the power of a process with
// the key can do: it makes members contact any host, but a number that no member reaches is
// refused, and padding that is not there ends no process.
func TestEveryMessageWithTheKey(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, evil := keyedGrid(t)
		v := newVictim(t, g)
		of := roster.Incarnation(g.Member("m1").Status().Answering)
		messages := everyMessage(of, v)
		for _, what := range []string{"ping", "indirect ping", "alive", "checked"} {
			before := v.contacts.Load()
			evil.packet(labelled("snowgrid", sealed(gossipKey, messages[what], "snowgrid")))
			within(t, 5*time.Second, what+": a member contacts the host", func() bool { return v.contacts.Load() > before })
			time.Sleep(time.Minute) // the forged member is forgotten
		}
		for _, b := range messages {
			for _, form := range [][]byte{b, append(bytes.Clone(b), 0xff)} {
				version := labelled("snowgrid", sealed(gossipKey, form, "snowgrid"))
				version[10] = 0
				evil.packet(version)
				stream := labelled("snowgrid", sealedStream(gossipKey, form, "snowgrid"))
				stream[15] = 0
				evil.stream(stream)
			}
		}
		packets, stream := accusations(of)
		for _, name := range g.Running() { // of the last number there is, to every member
			evil.to = g.Member(name).Addrs().Gossip
			for _, b := range packets {
				evil.packet(labelled("snowgrid", sealed(gossipKey, unlabelled(b), "snowgrid")))
			}
			evil.stream(labelled("snowgrid", sealedStream(gossipKey, stream, "snowgrid")))
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

// TestGreetingsEndNoMemberWithAKey: whatever answers a dial with the greeting of another grid
// or of another release is only in the error, and the member starts when its grid is there.
func TestGreetingsEndNoMemberWithAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.New(t, gridtest.Config{Members: 1, Change: func(name string, c *grid.Config) {
			c.Security.GossipKey = gossipKey
			if name == "m2" {
				c.Expect, c.Join = 0, []string{"evil:7946", "m1:7946"}
			}
		}})
		ln, err := g.Network.Host("evil").Listen("evil:7946")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		greetings := [][]byte{[]byte("SNOW\x11\x05other"), []byte("SNOW\x12\x08snowgrid\xfe\xff\x00"),
			[]byte("SNOW\x11\x08snowgrid")}
		go func() {
			for i := 0; ; i++ {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Write(greetings[i%len(greetings)])
				_ = conn.Close()
			}
		}()
		started := make(chan error, 1)
		go func() { started <- g.TryMember(t.Context(), "m2") }()
		select {
		case err := <-started:
			t.Fatalf("the member ended: %v", err)
		case <-time.After(30 * time.Second):
		}
		g.StartMembers("m1")
		if err := <-started; err != nil {
			t.Errorf("with its grid: %v", err)
		}
	})
}
