package api

import (
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// How fast a caller is read that sends much before it is answered. One that sends without a pause
// leaves the goroutine that reads it no reason to wait, and would keep a processor for
// milliseconds. Calls that are answered have no such bound.
const (
	// pieceBytes are read before goroutines that wait for the processor have it.
	pieceBytes = 16 << 10
	// promptBytes is how much a connection in frames may send without an answer, besides bodies, before
	// it is read slowly. pieceRest is how long it rests after each piece then. The next answer ends
	// the rest. Over HTTP/2 there is no rest, because that would put off the end of a connection whose
	// bodies are not read, and let more of them stay.
	promptBytes = 32 << 10
	pieceRest   = 100 * time.Millisecond
	// peerRate is how many bytes of large bodies a peer may send in a second, under TLS, and
	// peerAhead of how many seconds in a burst.
	peerRate  = wire.MaxBody
	peerAhead = 2 * time.Second
)

// bodyRate is the rate at which the large bodies of a peer are read. Its zero value is ready.
type bodyRate struct {
	mu   sync.Mutex
	paid time.Time // when what was read is within the rate; guarded by mu
}

// take counts bytes, and returns how long to wait before the next are read.
func (r *bodyRate) take(bytes int, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.paid.Before(now) {
		r.paid = now
	}
	r.paid = r.paid.Add(time.Duration(bytes) * time.Second / peerRate)
	return r.paid.Sub(now) - peerAhead
}

// pacedBody is a large body, which is read at the rate of its peer.
type pacedBody struct {
	io.ReadCloser
	rate *bodyRate
	done <-chan struct{} // closed when its caller no longer waits
}

// Read implements io.Reader.
func (b pacedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), pieceBytes)])
	if wait := b.rate.take(n, time.Now()); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-b.done:
		}
	}
	return n, err
}

// pace lets other goroutines have the processor after a piece of a connection in frames, and rests if
// its caller is to be read slowly.
func (c *openConn) pace(bytes int) {
	if !c.framed {
		return
	}
	if c.piece += bytes; c.piece < pieceBytes {
		return
	}
	c.piece = 0
	if answered := c.input.excessive(); answered != nil {
		c.rest(pieceRest, answered)
		return
	}
	runtime.Gosched()
}

// rest waits until a time has passed, the connection's next answer, or its end.
func (c *openConn) rest(d time.Duration, answered <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-answered:
	case <-c.closed:
	}
}
