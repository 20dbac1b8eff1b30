package grid_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2/hpack"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
)

// attack is the data that an attacker sends on a connection before keeping it open.
type attack struct {
	what   string
	addr   string
	opener []byte
	// flood is sent after the opener, repeatedly, until it is not accepted or the
	// limit of bytes is reached.
	flood []byte
	total int
	// streams says that, instead, each stream of HTTP/2 is sent that much.
	streams bool
	// closed is how long the connection may live, 0 for as long as it is in use.
	closed time.Duration
}

// attacks are ways to cost a member memory or goroutines on each listener. No
// header or length prefix in them is followed by what it announces.
func attacks(m *grid.Member) []attack {
	s, addrs := m.Status(), m.Addrs()
	greeting := transport.Greeting{Name: "snowgrid"}.Encode()
	says := func(b []byte) []byte { return append(bytes.Clone(greeting), labelled("snowgrid", b)...) }
	server := s.Answering
	if s.Members[0].Durable {
		server = s.Members[0].ID()
	}
	preamble := transport.Preamble{Grid: grid.RosterOf(m).Grid, Target: server}.Encode()
	raftSays := func(b string) []byte { // in a message of a terabyte
		return append(binary.AppendUvarint(bytes.Clone(preamble), 1<<40), b...)
	}
	spaces := bytes.Repeat([]byte{' '}, 16<<10)
	const post = "POST /v1/renew HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
	pings := bytes.Repeat(frame.AppendHeader(nil, frame.Header{Kind: frame.Ping}), 1<<10)
	const header, body, gossip, raftRequest = 6 * time.Second, 16 * time.Second, 3 * time.Second, 11 * time.Second
	return []attack{
		{"API, silence", addrs.API, nil, nil, 0, false, header},
		{"API, half a header", addrs.API, []byte(post + "X-A: "), []byte("aaaa"), 4000, false, header},
		{"API, half a body", addrs.API, []byte(post + "Content-Length: 1048576\r\n\r\n"), spaces, 1000 << 10, false, body},
		{"API, chunks without end", addrs.API, []byte(post + "Transfer-Encoding: chunked\r\n\r\nfffff\r\n"), spaces,
			1000 << 10, false, body},
		{"API, HTTP/2, bodies", addrs.API, manyStreams(wire.PathRenew, grid.CallsMax, 64<<10, false), nil, 1000 << 10, true,
			0},
		{"API, HTTP/2, events", addrs.API, manyStreams(wire.PathEvents, grid.CallsMax, 0, true), nil, 0, false, 0},
		{"API, HTTP/2, bodies for members", addrs.API, manyStreams(wire.PathReplicate, grid.CallsMax, 64<<10, false), nil,
			1000 << 10, true, 0},
		{"API, frames, nothing", addrs.API, []byte(upgrade), nil, 0, false, 30 * time.Second},
		{"API, frames, half of one", addrs.API, manyFrames(wire.PathRenew, 1, 100)[:len(upgrade)+50], nil, 0, false,
			20 * time.Second},
		{"API, frames, pings", addrs.API, []byte(upgrade), pings, 1 << 20, false, header},
		{"API, frames, requests given up", addrs.API, manyCancels(8 << 10), nil, 0, false, header},
		{"API, frames, bodies", addrs.API, manyFrames(wire.PathRenew, 64, 1<<20), nil, 1000 << 10, true, 0},
		{"API, frames, bodies for members", addrs.API, manyFrames(wire.PathReplicate, 64, 1<<20), nil, 1000 << 10, true, 0},
		{"gossip, silence", addrs.Gossip, nil, nil, 0, false, gossip},
		{"gossip, half a greeting", addrs.Gossip, greeting[:7], nil, 0, false, gossip},
		{"gossip, nothing after it", addrs.Gossip, greeting, nil, 0, false, gossip},
		{"gossip, a million nodes", addrs.Gossip, says(message(pushPullMsg, pushHeader{Nodes: 1 << 20})), nil, 0, false,
			gossip},
		{"gossip, 20 MB of state", addrs.Gossip, says(message(pushPullMsg, pushHeader{UserStateLen: 20 << 20})), nil, 0,
			false, gossip},
		{"gossip, a long name", addrs.Gossip,
			says(append(message(pushPullMsg, pushHeader{Nodes: 2000}), "\x81\xa4Name\xdb\x7f\xff\xff\xff"...)), spaces, 4 << 20,
			false, gossip},
		{"gossip, compressed", addrs.Gossip,
			says([]byte{9, 0x82, 0xa4, 'A', 'l', 'g', 'o', 0, 0xa3, 'B', 'u', 'f', 0xdb, 0x7f, 0xff, 0xff, 0xff}), spaces,
			4 << 20, false, gossip},
		{"raft, silence", addrs.Raft, nil, nil, 0, false, gossip},
		{"raft, half a preamble", addrs.Raft, preamble[:9], nil, 0, false, gossip},
		{"raft, nothing after it", addrs.Raft, preamble, nil, 0, false, raftRequest},
		{"raft, a command of 2 GB", addrs.Raft, raftSays("\x00\x81\xa7Entries\x91\x81\xa4Data\xdb\x7f\xff\xff\xff"), spaces,
			4 << 20, false, 2 * raftRequest},
		{"raft, 4 billion entries", addrs.Raft, raftSays("\x00\x81\xa7Entries\xdd\xff\xff\xff\xff"),
			bytes.Repeat([]byte{0x80}, 16<<10), 4 << 20, false, 2 * raftRequest},
	}
}

// http2Frame is a frame of HTTP/2.
func http2Frame(kind, flags byte, stream int, payload []byte) []byte {
	return appendFrame(nil, kind, flags, stream, payload)
}

// appendFrame appends a frame of HTTP/2.
func appendFrame(b []byte, kind, flags byte, stream int, payload []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload))<<8|uint32(kind))
	b = binary.BigEndian.AppendUint32(append(b, flags), uint32(stream))
	return append(b, payload...)
}

// manyStreams is an HTTP/2 connection on which n calls to a path send size bytes
// of a larger body each; holders of event streams send a whole one.
func manyStreams(path string, n, size int, whole bool) []byte {
	const data, headers, settings, endStream, endHeaders = 0, 1, 4, 1, 4
	var fields bytes.Buffer
	encoder := hpack.NewEncoder(&fields)
	out := []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	out = append(out, http2Frame(settings, 0, 0, []byte{0, 4, 0, 0, 0, 0})...) // a window of 0 for all
	for i := range n {
		fields.Reset()
		body, flags := bytes.Repeat([]byte{' '}, size), byte(0)
		if whole {
			body, flags = fmt.Appendf(nil, `{"holder":"h%d"}`, i), endStream
		}
		for _, f := range []hpack.HeaderField{
			{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"}, {Name: ":path", Value: path},
			{Name: ":authority", Value: "a"},
			{Name: "content-type", Value: "application/json"}, {Name: "x-large", Value: strings.Repeat("x", 3500)},
		} {
			f.Sensitive = true // it stays out of the table, so that each stream has its own
			_ = encoder.WriteField(f)
		}
		out = append(out, http2Frame(headers, endHeaders, 2*i+1, fields.Bytes())...)
		for len(body) > 16<<10 {
			out = append(out, http2Frame(data, 0, 2*i+1, body[:16<<10])...)
			body = body[16<<10:]
		}
		out = append(out, http2Frame(data, flags, 2*i+1, body)...)
	}
	return out
}

// TestBodyBeforeSettings: a body that a client sends before it knows the limit is served
// (RFC 9113, 6.9.3).
func TestBodyBeforeSettings(t *testing.T) {
	t.Parallel()
	m := startOne(t, nil)
	for range 20 {
		conn, err := net.Dial("tcp", m.Addrs().API)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		const endStream = 1
		opener := append(manyStreams(wire.PathRenew, 1, 60<<10, false), http2Frame(0, endStream, 1, []byte("{}"))...)
		if _, err := conn.Write(opener); err != nil {
			t.Fatal(err)
		}
		for kind := byte(0); kind != 1; { // until the header of an answer
			var head [9]byte
			if _, err := io.ReadFull(conn, head[:]); err != nil {
				t.Fatal(err)
			}
			payload := make([]byte, binary.BigEndian.Uint32(head[:])>>8)
			if _, err := io.ReadFull(conn, payload); err != nil {
				t.Fatal(err)
			}
			if kind = head[3]; kind == 3 || kind == 7 {
				t.Fatalf("the stream was reset or the connection ended: frame %d, %x", kind, payload)
			}
		}
	}
}

// launch sends the data of an attack, and reports on said when no more is accepted.
func (a attack) launch(conn net.Conn, said chan<- struct{}) {
	defer func() { said <- struct{}{} }()
	defer conn.SetDeadline(time.Time{})
	_ = conn.SetDeadline(time.Now().Add(300 * time.Millisecond))
	_, err := conn.Write(a.opener)
	if a.streams {
		_ = conn.SetDeadline(time.Now().Add(time.Second))
		if bytes.HasPrefix(a.opener, []byte(upgrade)) {
			fillFrames(conn, a.total)
		} else {
			fillStreams(conn, a.total)
		}
		return
	}
	for sent := 0; err == nil && sent < a.total; sent += len(a.flood) {
		_, err = conn.Write(a.flood)
	}
}

// fillStreams sends on each stream of an HTTP/2 connection what it may, up to most
// bytes, until nothing more is allowed. It uses its memory again and again, since that
// counts as the member's.
func fillStreams(conn net.Conn, most int) {
	const windowUpdate = 8
	sent := map[int]int{}
	var payload, body, out []byte
	for {
		var head [9]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return
		}
		size := int(binary.BigEndian.Uint32(head[:]) >> 8)
		payload = slices.Grow(payload[:0], size)[:size]
		if _, err := io.ReadFull(conn, payload); err != nil {
			return
		}
		id := int(binary.BigEndian.Uint32(head[5:]))
		if head[3] != windowUpdate || id == 0 || sent[id] > most {
			continue
		}
		n := int(binary.BigEndian.Uint32(payload))
		sent[id] += n
		for len(body) < n {
			body = append(body, ' ')
		}
		out = appendFrame(out[:0], 0, 0, id, body[:n])
		if _, err := conn.Write(out); err != nil {
			return
		}
	}
}

// inUse returns the bytes of memory that the process cannot do without: the objects that a
// garbage collection has found in use, and the stacks. Garbage that others leave after it
// does not count, so a measurement that is delayed on a busy machine does not grow.
func inUse() int64 {
	runtime.GC()
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(samples)
	var sum int64
	for _, s := range samples {
		sum += int64(s.Value.Uint64())
	}
	return sum
}

const (
	hostile       = 20      // concurrent connections
	perConnection = 2 << 20 // bytes that each may take
)

// usualHostile are the kinds that are opened without -long: those that take most memory at
// each listener.
var usualHostile = []string{
	"API, half a body", "API, HTTP/2, bodies", "API, frames, requests given up", "API, frames, bodies",
	"gossip, a million nodes", "gossip, a long name", "raft, a command of 2 GB", "raft, 4 billion entries",
}

// TestHostileConnectionsTakeLittleMemory opens many connections of each kind to a
// member, and meanwhile asks it for IDs. When they are gone their memory is free.
func TestHostileConnectionsTakeLittleMemory(t *testing.T) { // not parallel: it looks at the process's memory
	long.Only(t, "it takes seconds")
	if raceDetector {
		t.Skip("it measures memory, and the race detector takes memory of its own; run it without -race")
	}
	m := startOne(t, func(c *grid.Config) { c.Logger = nil })
	serves(t, m)
	all := slices.DeleteFunc(attacks(m), func(a attack) bool {
		return !long.Enabled() &&
			!slices.Contains(usualHostile, a.what)
	})
	base := inUse()
	for range 3 { // what other tests have left goes by and by
		base = min(base, inUse())
	}
	for _, a := range all {
		within(t, time.Minute, "the memory is free", func() bool { return inUse()-base < hostile*perConnection/8 })
		most := a.memory(t, func() { serves(t, m) }) - base
		t.Logf("%-32s %5d KiB a connection", a.what, most/hostile>>10)
		if most > hostile*perConnection*5/4 { // it is a measurement
			t.Errorf("%s: %d KiB of memory a connection", a.what, most/hostile>>10)
		}
	}
}

// memory returns the peak memory during many concurrent attacks.
func (a attack) memory(t *testing.T, meanwhile func()) (most int64) {
	said := make(chan struct{})
	for range hostile {
		conn, err := net.Dial("tcp", a.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		go a.launch(conn, said)
	}
	for left := hostile; left > 0; left-- {
		if <-said; left%10 == 0 {
			most = max(most, inUse())
		}
	}
	meanwhile()
	for range 5 { // data may still be in transit
		time.Sleep(10 * time.Millisecond)
		most = max(most, inUse())
	}
	return most
}

// TestEventStreamsOfOneConnection: one connection has a few, and another has its own.
func TestEventStreamsOfOneConnection(t *testing.T) {
	t.Parallel()
	m := startOne(t, nil)
	open := func(b *browser, holder string) (status int) {
		body := strings.NewReader(`{"holder":"` + holder + `"}`)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+m.Addrs().API+wire.PathEvents, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", wire.JSON)
		res, err := b.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = res.Body.Close() })
		return res.StatusCode
	}
	one, other := newBrowser(t, m, 2), newBrowser(t, m, 2)
	for i := range api.StreamsMax {
		if status := open(one, fmt.Sprint("h", i)); status != http.StatusOK {
			t.Fatalf("stream %d: status %d", i, status)
		}
	}
	if status := open(one, "more"); status != http.StatusServiceUnavailable {
		t.Errorf("one stream more: status %d", status)
	}
	if status := open(other, "more"); status != http.StatusOK {
		t.Errorf("on another connection: status %d", status)
	}
}
