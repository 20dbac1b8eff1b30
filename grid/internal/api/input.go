package api

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// Limits on bytes that a connection may send without a reply: HTTP/2 has frames that cost the server
// work but begin no request, or a request that ends before it is served, and it buffers bodies before
// they are read.
const (
	unansweredMax    = 256 << 10
	unansweredPeriod = 10 * time.Second
	// refusedMax is for a refused connection: one request, with an unread body. keptOutMax is for a peer that
	// is kept out, since it would repeat its misuse.
	refusedMax = 32 << 10
	keptOutMax = 4 << 10
	// peerUnread is for all connections of a peer: as much as its bodies and its waiting requests may have. A
	// refused body is not read, and takes memory until it is collected. callerUnread is for all peers; beyond
	// it, connections with more than unreadFew end. Both apply under TLS, which identifies peers.
	peerUnread   = peerBodies + peerWaits*callWindow
	callerUnread = 3 * peerUnread
	unreadFew    = 64 << 10
)

// input counts the bytes that a connection sends. Its zero value is ready.
type input struct {
	mu       sync.Mutex    // guards the fields below
	since    time.Time     // of the period
	bytes    int64         // of the period, since the last answer
	unread   int64         // in the period, since the last request with a body read
	declared int64         // bodies of requests in progress
	answered chan struct{} // closed at the next answer; nil if no goroutine waits for it
	closed   bool
	refused  int64 // bytes that it may send since it is refused, 0 if it is not; set before the first byte

	peer, all *atomic.Int64 // unread on all connections of the peer, and of all peers; nil = not counted
}

// excess is the fault of a connection's input.
type excess int

const (
	none    excess = iota
	crowded        // all peers together sent too much
	misuse         // this one, or its peer, sent too much
)

func (i *input) note(n int, now time.Time) excess {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return none
	}
	if now.Sub(i.since) > unansweredPeriod {
		i.since, i.bytes = now, 0
		i.setUnread(0)
	}
	i.bytes += int64(n)
	i.setUnread(i.unread + int64(n))
	switch {
	case i.refused > 0 && i.bytes > i.refused, i.bytes > unansweredMax+i.declared, i.peer != nil &&
		i.peer.Load() > peerUnread:
		return misuse
	case i.all != nil && i.all.Load() > callerUnread && i.unread > unreadFew:
		return crowded
	}
	return none
}

// excessive returns nil unless the connection has sent so much without an answer, besides bodies,
// that it is read slowly. Then answered is closed at the next answer.
func (i *input) excessive() (answered <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.bytes <= promptBytes+i.declared {
		return nil
	}
	if i.answered == nil {
		i.answered = make(chan struct{})
	}
	return i.answered
}

func refusedBytes(err error) int64 {
	if errors.As(err, new(keptOutError)) {
		return keptOutMax
	}
	return refusedMax
}

func (i *input) setUnread(bytes int64) {
	for _, sum := range [...]*atomic.Int64{i.peer, i.all} {
		if sum != nil {
			sum.Add(bytes - i.unread)
		}
	}
	i.unread = bytes
}

func (i *input) end() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.setUnread(0)
	i.closed = true
}

// begin counts a request with its body's length, -1 if unknown, until end. answered is false if the
// caller gave up.
func (i *input) begin(length int64) (end func(answered, read bool)) {
	if length < 0 || length > wire.MaxBody {
		length = wire.MaxBody // no more is read
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.declared += length
	return func(answered, read bool) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.declared -= length
		if answered {
			i.bytes = 0
			if i.answered != nil {
				close(i.answered)
				i.answered = nil
			}
		}
		if answered && read {
			i.setUnread(0)
		}
	}
}

type trackedBody struct {
	io.ReadCloser
	ended bool
}

func (b *trackedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || errors.Is(err, io.EOF)
	return n, err
}

// Read implements net.Conn. A connection that sends too much without being answered ends, and the
// last of it is not looked at.
func (c *openConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.kind == fromMember {
		return n, err
	}
	switch c.input.note(n, time.Now()) {
	case misuse:
		c.misused()
		return 0, net.ErrClosed
	case crowded:
		_ = c.Close()
		return 0, net.ErrClosed
	}
	c.pace(n)
	return n, err
}

// misused ends a connection for misuse, and keeps out others from its peer for a time.
func (c *openConn) misused() {
	if c.keepOut != nil {
		c.keepOut()
	}
	_ = c.Close()
}
