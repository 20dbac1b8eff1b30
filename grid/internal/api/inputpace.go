package api

import (
	"runtime"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/wire"
)

// How fast a caller is read that sends much before it is answered. One that sends without a pause
// leaves the goroutine that reads it no reason to wait, and would keep a processor for
// milliseconds. Calls that are answered have no such bound.
const (
	// pieceBytes are read before goroutines that wait for the processor have it.
	pieceBytes = 16 << 10
	// promptBytes is how much a connection may send without an answer before it is read slowly.
	promptBytes = 32 << 10
	// pieceRest is how long a connection rests after a piece that belongs to no body, such as
	// frames without calls. The next answer ends the rest.
	pieceRest = 100 * time.Millisecond
	// peerRate is how many bytes of large bodies a peer may send in a second, under TLS, and
	// peerAhead of how many seconds in a burst.
	peerRate  = wire.MaxBody
	peerAhead = 2 * time.Second
)

// bodyRate is the rate at which the large bodies of a peer are read. Its zero value is ready.
type bodyRate struct {
	mu   sync.Mutex
	paid time.Time // until when the rate is used up by what was read; guarded by mu
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

// pace lets other goroutines have the processor after a piece, and waits if the caller is to be read
// slowly.
func (c *openConn) pace(bytes int) {
	if c.piece += bytes; c.piece < pieceBytes {
		return
	}
	bytes, c.piece = c.piece, 0
	ofBody, answered := c.input.excessive()
	switch {
	case answered != nil && !ofBody:
		c.rest(pieceRest, answered)
	case answered != nil && c.kind != inClear && c.share != nil:
		c.rest(c.share.rate.take(bytes, time.Now()), answered)
	default:
		runtime.Gosched()
	}
}

// rest waits until a time has passed, the connection's next answer, or its end.
func (c *openConn) rest(d time.Duration, answered <-chan struct{}) {
	if d <= 0 {
		runtime.Gosched()
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-answered:
	case <-c.closed:
	}
}
