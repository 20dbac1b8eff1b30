package main

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// opsConnections bounds the connections to the ops listener. At the limit it closes the connection
// that has been idle longest, so that idle connections never block a probe. The zero value is ready.
type opsConnections struct {
	mu sync.Mutex
	of map[net.Conn]opsConnection // guarded by mu
}

// opsConnection is an open connection, which has had its state since a time.
type opsConnection struct {
	isActive bool // a request is being served
	since    time.Time
}

// note records a connection's state; it is an [http.Server.ConnState].
func (o *opsConnections) note(conn net.Conn, state http.ConnState) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if state == http.StateClosed || state == http.StateHijacked {
		delete(o.of, conn)
		return
	}
	if o.of == nil {
		o.of = map[net.Conn]opsConnection{}
	}
	if _, known := o.of[conn]; !known && len(o.of) >= opsConnectionsMax {
		oldest := o.oldest()
		delete(o.of, oldest)
		_ = oldest.Close()
	}
	o.of[conn] = opsConnection{isActive: state == http.StateActive, since: time.Now()}
}

// oldest returns the connection that has been idle for longest, or, if a request is being
// served on each, the one with the longest request. The caller holds mu.
func (o *opsConnections) oldest() (oldest net.Conn) {
	for conn, c := range o.of {
		if best, found := o.of[oldest]; !found || best.isActive && !c.isActive || best.isActive == c.isActive &&
			c.since.Before(best.since) {
			oldest = conn
		}
	}
	return oldest
}
