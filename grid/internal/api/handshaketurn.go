package api

import (
	"net"
	"runtime"
)

// turnConn is a connection in its TLS handshake, which computes only in its turn. A handshake
// costs as much processor time as dozens of requests: without turns, hundreds of them would share the
// processor with each request of the callers that are connected. A connection that waits for
// its other side leaves its turn to others.
type turnConn struct {
	net.Conn
	turns semaphore // nil after the handshake
}

// newTurns returns turns for half of the processors.
func newTurns() semaphore { return make(semaphore, max(1, runtime.GOMAXPROCS(0)/2)) }

// begin waits for the first turn, and end gives the last one back.
func (c *turnConn) begin() { c.turns <- struct{}{} }

func (c *turnConn) end() {
	<-c.turns
	c.turns = nil
}

// Read implements net.Conn.
func (c *turnConn) Read(b []byte) (int, error) {
	if c.turns != nil {
		<-c.turns
		defer c.begin()
	}
	return c.Conn.Read(b)
}

// Write implements net.Conn.
func (c *turnConn) Write(b []byte) (int, error) {
	if c.turns != nil {
		<-c.turns
		defer c.begin()
	}
	return c.Conn.Write(b)
}
