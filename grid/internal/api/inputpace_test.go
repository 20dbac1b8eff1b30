package api

import (
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/wire"
)

// endless is a connection whose other side sends without a pause.
type endless struct {
	net.Conn
	read int
}

func (e *endless) Read(b []byte) (int, error) {
	e.read += len(b)
	return len(b), nil
}

// Close implements net.Conn.
func (e *endless) Close() error { return nil }

func openEndless(k kind) *openConn {
	return &openConn{Conn: &endless{}, kind: k, share: &peerShare{}, closed: make(chan struct{})}
}

// TestReaderYields: a caller that sends without a pause does not keep the processor.
func TestReaderYields(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	c := openEndless(fromHolder)
	var others atomic.Bool
	go others.Store(true)
	read := 0
	for b := make([]byte, 1<<10); !others.Load() && read < promptBytes; read += len(b) {
		if _, err := c.Read(b); err != nil {
			t.Fatal(err)
		}
	}
	if !others.Load() {
		t.Errorf("no other goroutine has run while %d bytes were read", read)
	}
}

// TestUnansweredInputIsReadSlowly, unless it is of a member, and until the next answer.
func TestUnansweredInputIsReadSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took := func(c *openConn, bytes int) time.Duration {
			t.Helper()
			began := time.Now()
			for b := make([]byte, 1<<10); bytes > 0; bytes -= len(b) {
				if _, err := c.Read(b); err != nil {
					t.Fatal(err)
				}
			}
			return time.Since(began)
		}
		for _, k := range []kind{fromHolder, fromStranger, inClear, fromMember} {
			c := openEndless(k)
			if d := took(c, promptBytes); d > 0 {
				t.Errorf("%s: the first bytes take %v", shares[k].name, d)
			}
			want := 4 * pieceRest
			if k == fromMember {
				want = 0
			}
			if d := took(c, 4*pieceBytes); d != want {
				t.Errorf("%s: more bytes take %v, want %v", shares[k].name, d, want)
			}
		}
		c := openEndless(fromHolder)
		end := c.input.begin(0)
		took(c, promptBytes)
		time.AfterFunc(pieceRest/4, func() { end(true, true) })
		if d := took(c, pieceBytes); d != pieceRest/4 {
			t.Errorf("it rests %v, until after the answer", d)
		}
		if d := took(c, promptBytes); d > 0 {
			t.Errorf("bytes after an answer take %v", d)
		}
		closed := openEndless(fromHolder)
		time.AfterFunc(pieceRest/4, func() { _ = closed.Close() })
		if d := took(closed, promptBytes+pieceBytes); d != pieceRest/4 {
			t.Errorf("a closed one rests %v", d)
		}
	})
}

// TestLargeBodiesArePaced: large bodies of a peer are read at its rate, and those in clear
// text and those of others are not held up.
func TestLargeBodiesArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peer := &peerShare{}
		send := func(c *openConn, bytes int64) {
			t.Helper()
			end := c.input.begin(bytes)
			for b := make([]byte, pieceBytes); bytes > 0; bytes -= int64(len(b)) {
				if _, err := c.Read(b[:min(bytes, pieceBytes)]); err != nil {
					t.Fatal(err)
				}
			}
			end(true, true)
		}
		const bodies = 40
		began := time.Now()
		for range bodies { // each by a connection of its own
			c := openEndless(fromHolder)
			c.share = peer
			send(c, wire.MaxBody)
		}
		const paced = wire.MaxBody - promptBytes
		want := time.Second*bodies*paced/peerRate - peerAhead
		if took := time.Since(began); took < want || took > want+time.Second/10 {
			t.Errorf("%d bodies of the largest size were read in %v, want %v", bodies, took, want)
		}
		for name, c := range map[string]*openConn{"a small one": openEndless(fromHolder), "in clear text one": openEndless(inClear), "one of another": openEndless(fromHolder)} {
			bytes := int64(wire.MaxBody)
			if name == "a small one" {
				bytes, c.share = promptBytes, peer
			}
			began = time.Now()
			send(c, bytes)
			if took := time.Since(began); took > 0 {
				t.Errorf("%s waited %v", name, took)
			}
		}
	})
}
