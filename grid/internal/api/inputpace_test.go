package api

import (
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/snowgrid/snowgrid/internal/wire"
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
	return &openConn{Conn: &endless{}, kind: k, framed: true, share: &peerShare{}, closed: make(chan struct{})}
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

// TestUnansweredInputIsReadSlowly in frames, unless it is of a member or a body, and until the next
// answer.
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
		http := openEndless(fromHolder)
		http.framed = false
		body := openEndless(fromHolder)
		body.input.begin(4 * pieceBytes)
		for name, c := range map[string]*openConn{"HTTP": http, "a body": body} {
			if d := took(c, promptBytes+4*pieceBytes); d > 0 {
				t.Errorf("bytes of %s take %v", name, d)
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

// TestLargeBodiesArePaced: large bodies of a peer are read at its rate after a burst, and those of
// another are not held up. One whose caller has gone does not wait.
func TestLargeBodiesArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read := func(rate *rate.Limiter, done <-chan struct{}, bytes int64) time.Duration {
			t.Helper()
			began := time.Now()
			body := pacedBody{io.NopCloser(io.LimitReader(&endless{}, bytes)), rate, done}
			if n, err := io.Copy(io.Discard, body); n != bytes || err != nil {
				t.Fatalf("%d bytes, %v", n, err)
			}
			return time.Since(began)
		}
		rate := newBodyRate()
		const bodies = 40
		took := time.Duration(0)
		for range bodies {
			took += read(rate, nil, wire.MaxBody)
		}
		if want := time.Second * (bodies - peerBurst/peerRate); took < want-time.Second/50 || took > want {
			t.Errorf("%d bodies of the largest size were read in %v, want %v", bodies, took, want)
		}
		if d := read(newBodyRate(), nil, wire.MaxBody); d > 0 {
			t.Errorf("one of another peer waited %v", d)
		}
		gone := make(chan struct{})
		close(gone)
		if d := read(rate, gone, wire.MaxBody); d > 0 {
			t.Errorf("one whose caller has gone waited %v", d)
		}
	})
}
