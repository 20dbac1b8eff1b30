package api

import (
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/wire"
)

// Bounds of what a connection may send without being answered: HTTP/2 has frames that cost
// its server work and begin no request, or one that ends before it is served.
const (
	unansweredMax    = 256 << 10
	unansweredPeriod = 10 * time.Second
)

// input counts what a connection sends. Its zero value is ready.
type input struct {
	mu       sync.Mutex // guards what follows
	since    time.Time  // of the period
	bytes    int64      // of the period, since the last answer
	declared int64      // of the bodies of the requests in progress
}

// note counts bytes, and reports whether they are too many in a period.
func (i *input) note(n int, now time.Time) (tooMany bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if now.Sub(i.since) > unansweredPeriod {
		i.since, i.bytes = now, 0
	}
	i.bytes += int64(n)
	return i.bytes > unansweredMax+i.declared
}

// begin counts a request with the length of its body, -1 for one of no stated length, in
// progress until end. One that its caller did not give up was answered.
func (i *input) begin(length int64) (end func(answered bool)) {
	if length < 0 || length > wire.MaxBody {
		length = wire.MaxBody // no more is read
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.declared += length
	return func(answered bool) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.declared -= length
		if answered {
			i.bytes = 0
		}
	}
}

// Read implements net.Conn. A connection that sends too much without being answered ends.
func (c *openConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.kind != fromMember && c.input.note(n, time.Now()) {
		c.misused()
	}
	return n, err
}

// misused ends a connection whose caller misuses it, and keeps others of its peer out for a time.
func (c *openConn) misused() {
	if c.keepOut != nil {
		c.keepOut()
	}
	_ = c.Close()
}
