package api

import (
	"io"
	"runtime"
	"time"

	"golang.org/x/time/rate"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// Read rate of a caller that sends much before a reply. A caller that sends without pause never makes
// the reading goroutine wait, and would occupy a processor for milliseconds. Answered calls have no
// such bound.
const (
	// pieceBytes are read before goroutines that wait for the processor have it.
	pieceBytes = 16 << 10
	// promptBytes limits the unanswered bytes on a framed connection, besides bodies, before it is read
	// slowly; it then rests pieceRest after each piece, until the next reply. Over HTTP/2 there is no rest,
	// because it would delay the end of connections with unread bodies, and keep more of them open.
	promptBytes = 32 << 10
	pieceRest   = 100 * time.Millisecond
	// peerRate limits a peer's large bodies in bytes per second, under TLS, and peerBurst is the burst.
	peerRate  = wire.MaxBody
	peerBurst = 2 * peerRate
)

func newBodyRate() *rate.Limiter { return rate.NewLimiter(peerRate, peerBurst) }

type pacedBody struct {
	io.ReadCloser
	rate *rate.Limiter
	done <-chan struct{} // closed when its caller no longer waits
}

func (b pacedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), pieceBytes)])
	if wait := b.rate.ReserveN(time.Now(), n).Delay(); wait > 0 {
		select {
		case <-time.After(wait):
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
		select {
		case <-time.After(pieceRest):
		case <-answered:
		case <-c.closed:
		}
		return
	}
	runtime.Gosched()
}
