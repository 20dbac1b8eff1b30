package api

import (
	"sync"
	"time"
)

// Go's server ends an HTTP/2 connection when its calls are reset faster than their handlers end.
// Handlers end quickly, so a connection can have a hundred thousand a second begin for nothing.
// A caller that gives up on calls waited for them before; it has eight at a time.
const (
	resetsMax    = 200
	resetsPeriod = time.Second
)

// resets counts the calls of a connection that their caller gave up. Its zero value is ready.
type resets struct {
	mu    sync.Mutex // guards the fields below
	since time.Time
	count int
}

// givenUp counts a call abandoned by its caller, and closes the connection after too many. Members
// trust each other.
func (c *connection) givenUp() {
	if c.misused != nil && c.kind != fromMember && c.resets.note(time.Now()) {
		c.misused()
	}
}

// note counts one, and reports whether they are too many in a period.
func (r *resets) note(now time.Time) (tooMany bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.since) > resetsPeriod {
		r.since, r.count = now, 0
	}
	r.count++
	return r.count > resetsMax
}
