package grid

import (
	"net"
	"slices"
	"sync"
)

// crowdMax is how many streams a member keeps that others opened to its gossip, and
// how many to its Raft. Honest ones are far fewer: the leader and the voters keep a
// few each, and gossip ends its own within seconds.
const crowdMax = 128

// crowd bounds the accepted streams of one listener. One more closes the one that
// has been silent for longest: whoever opens streams and leaves them lying takes
// the place of others that do so, and not of those in use. Its zero value is ready.
type crowd struct {
	mu     sync.Mutex
	guests []*guest // longest silent first; guarded by mu
}

// guest is an accepted stream, which its crowd may close.
type guest struct {
	net.Conn
	crowd *crowd
}

// guest wraps a stream, which is not counted before it enters.
func (c *crowd) guest(conn net.Conn) *guest { return &guest{conn, c} }

// enter counts the stream in, until it is closed.
func (g *guest) enter() {
	c := g.crowd
	c.mu.Lock()
	var drop *guest
	if len(c.guests) == crowdMax {
		drop = c.guests[0]
		c.guests = slices.Delete(c.guests, 0, 1)
	}
	c.guests = append(c.guests, g)
	c.mu.Unlock()
	if drop != nil {
		_ = drop.Conn.Close()
	}
}

// leave counts a stream out, and reports whether it was in. The caller holds mu.
func (c *crowd) leave(g *guest) bool {
	i := slices.Index(c.guests, g)
	if i >= 0 {
		c.guests = slices.Delete(c.guests, i, i+1)
	}
	return i >= 0
}

// Read implements net.Conn.
func (g *guest) Read(b []byte) (int, error) {
	n, err := g.Conn.Read(b)
	if n > 0 {
		g.crowd.mu.Lock()
		if g.crowd.leave(g) {
			g.crowd.guests = append(g.crowd.guests, g)
		}
		g.crowd.mu.Unlock()
	}
	return n, err
}

// Close implements net.Conn.
func (g *guest) Close() error {
	g.crowd.mu.Lock()
	g.crowd.leave(g)
	g.crowd.mu.Unlock()
	return g.Conn.Close()
}
