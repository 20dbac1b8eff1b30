package transport

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/raft"
)

// states is the header of memberlist's exchange of states.
type states struct {
	Nodes, UserStateLen int
	Join                bool
}

// opening returns how memberlist opens a stream with h.
func opening(label string, h any) []byte {
	var b bytes.Buffer
	if label != "" {
		b.Write([]byte{gossipLabel, byte(len(label))})
		b.WriteString(label)
	}
	b.WriteByte(gossipPushPull)
	_ = codec.NewEncoder(&b, &codec.MsgpackHandle{}).Encode(h)
	return b.Bytes()
}

// FuzzReadOpening: nothing is lost of a stream that is accepted, and memberlist's
// own decoder finds no more announced in it than is allowed.
func FuzzReadOpening(f *testing.F) {
	f.Add(opening("snowgrid", states{Nodes: 3, Join: true}))
	f.Add(opening("", states{Nodes: gossipNodesMax}))
	f.Add(opening("", states{Nodes: 1 << 20}))
	f.Add(opening("", states{UserStateLen: 20 << 20}))
	f.Add([]byte{0})
	f.Add([]byte{gossipCompressed, 0x82})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		read, err := readOpening(r)
		if err != nil {
			return
		}
		rest, _ := io.ReadAll(r)
		if !bytes.Equal(append(read, rest...), data) {
			t.Fatalf("%q is passed on as %q and %q", data, read, rest)
		}
		if data[0] == gossipLabel {
			data = data[2+int(data[1]):]
		}
		if data[0] != gossipPushPull {
			return
		}
		var h states
		if err := codec.NewDecoderBytes(data[1:], &codec.MsgpackHandle{}).Decode(&h); err != nil ||
			h.Nodes < 0 || h.Nodes > gossipNodesMax || h.UserStateLen != 0 {
			t.Errorf("%q is accepted, and announces %+v, %v", data, h, err)
		}
	})
}

// raftRequest encodes a request as Raft's transport does.
func raftRequest(kind byte, v any) []byte {
	b := bytes.NewBuffer([]byte{kind})
	_ = codec.NewEncoder(b, &codec.MsgpackHandle{}).Encode(v)
	return b.Bytes()
}

// FuzzRaftShape: the decision about a request does not depend on the pieces in which it
// arrives, and Raft's own decoder finds no long list in an accepted one.
func FuzzRaftShape(f *testing.F) {
	entries := func(n int) []byte {
		return raftRequest(0, &raft.AppendEntriesRequest{Term: 1 << 40,
			Entries: slices.Repeat([]*raft.Log{{Data: make([]byte, 300)}}, n)})
	}
	f.Add(entries(0), 1)
	f.Add(entries(RaftListMax), 7)
	f.Add(entries(RaftListMax+1), 1000)
	f.Add(raftRequest(1, &raft.RequestVoteRequest{Term: 3}), 2)
	f.Add(append(raftRequest(3, &raft.InstallSnapshotRequest{Size: 3}), 0xdd, 0xff, 0xff, 0xff, 0xff), 5)
	f.Fuzz(func(t *testing.T, data []byte, piece int) {
		var whole, pieces raftShape
		err := whole.feed(data)
		var inPieces error
		piece = 1 + piece&0xff
		for part := range slices.Chunk(data, piece) {
			if inPieces == nil {
				inPieces = pieces.feed(part)
			}
		}
		var found raft.AppendEntriesRequest
		if err == nil && len(data) > 0 && codec.NewDecoderBytes(data[1:], &codec.MsgpackHandle{}).Decode(&found) == nil &&
			len(found.Entries) > RaftListMax {
			t.Fatalf("%d entries are accepted", len(found.Entries))
		}
		if (err == nil) != (inPieces == nil) {
			t.Fatalf("as a whole %v, in pieces of %d bytes %v", err, piece, inPieces)
		}
	})
}

// TestRaftShapeAcceptsWhatRaftSends, and only so many entries, which its decoder
// would find.
func TestRaftShapeAcceptsWhatRaftSends(t *testing.T) {
	for n, want := range map[int]error{0: nil, 1: nil, RaftListMax: nil, RaftListMax + 1: errRequestTooLong,
		1 << 16: errRequestTooLong} {
		var s raftShape
		entry := &raft.Log{Index: 1 << 60, Term: 3, Data: bytes.Repeat([]byte{0xdd}, 40), AppendedAt: time.Now()}
		b := raftRequest(0, &raft.AppendEntriesRequest{
			RPCHeader: raft.RPCHeader{ProtocolVersion: 3, ID: []byte("id"), Addr: []byte("addr")},
			Term:      7, PrevLogEntry: 1 << 50, Entries: slices.Repeat([]*raft.Log{entry}, n),
		})
		if err := s.feed(b); !errors.Is(err, want) {
			t.Errorf("%d entries: %v, want %v", n, err, want)
		}
		if want == nil && (s.open != 0 || s.skip != 0) {
			t.Errorf("%d entries: %d values and %d bytes are still awaited at the end", n, s.open, s.skip)
		}
	}
}

// TestDecodersAllocateInProportion: what announces more than it brings costs no
// more memory than what it brings. Those of the API are looked at in package wire.
func TestDecodersAllocateInProportion(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for what, decode := range map[string]func(){
		"greeting":               func() { _, _ = readGreeting(strings.NewReader("SNOW\x11\xff" + long)) },
		"preamble":               func() { _, _ = readPreamble(strings.NewReader("SNOW\x21" + long)) },
		"states, of a long name": func() { _, _ = readOpening(strings.NewReader("\x06\x83\xdb\x7f\xff\xff\xff" + long)) },
		"states, of a long map":  func() { _, _ = readOpening(strings.NewReader("\x06\xdf\xff\xff\xff\xff" + long)) },
		"Raft":                   func() { _ = new(raftShape).feed([]byte("\x00\xdb\xff\xff\xff\xff" + long)) },
		"Raft, deep":             func() { _ = new(raftShape).feed([]byte("\x00" + strings.Repeat("\x91", 100_000))) },
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
