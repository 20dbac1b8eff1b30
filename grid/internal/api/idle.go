package api

import (
	"container/list"
	"net"
	"net/http"
	"time"
)

// DefaultIdle is the default idle timeout of HTTP/1.1 connections. Load balancers keep theirs for 60
// to 75 s, and answer 502 if the member closes one at the moment of use.
const DefaultIdle = 90 * time.Second

// idleEntry is a connection's place in the lists of connections without a request, longest first; zero while it has
// one.
type idleEntry struct {
	since        time.Time
	ofKind, peer *list.Element
}

// idle notes that a connection's last request has ended.
func (p *places) idle(c *openConn, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.entry.peer == nil {
		c.entry = idleEntry{now, p.idlers[c.kind].PushBack(c), c.share.idlers.PushBack(c)}
	}
}

// busy notes that a connection has a request, or has ended.
func (p *places) busy(c *openConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.entry.peer != nil {
		p.idlers[c.kind].Remove(c.entry.ofKind)
		c.share.idlers.Remove(c.entry.peer)
		c.entry = idleEntry{}
	}
}

// yielding returns the longest idle connection of a peer, or of its kind, if all places are taken.
// It returns nil if it is idle for no longer than idleTimeout, for which every connection keeps its place.
func (p *places) yielding(k placeKey, now time.Time) *openConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := &p.idlers[k.kind]
	if share := p.peers[k]; share != nil && share.connections >= shares[k.kind].peer {
		of = &share.idlers
	} else if p.all[k.kind] < shares[k.kind].all {
		return nil
	}
	if of.Len() == 0 {
		return nil
	}
	if c, _ := of.Front().Value.(*openConn); now.Sub(c.entry.since) > idleTimeout {
		return c
	}
	return nil
}

func (a *Server) noteState(conn net.Conn, state http.ConnState) {
	open := openConnOf(conn)
	if open == nil || open.share == nil {
		return
	}
	switch state {
	case http.StateIdle:
		open.waits.Store(true)
		a.places.idle(open, time.Now())
	case http.StateActive, http.StateHijacked, http.StateClosed:
		open.waits.Store(false)
		a.places.busy(open)
	}
}

// SetReadDeadline implements net.Conn. After an HTTP/1.1 request net/http sets the next one's deadline
// from the server's idle timeout, which is chosen for HTTP/2, where connections end in order and cost
// memory as long; this method extends it.
func (c *openConn) SetReadDeadline(t time.Time) error {
	if !t.IsZero() && c.waits.CompareAndSwap(true, false) {
		t = t.Add(c.idleFor - idleTimeout)
	}
	return c.Conn.SetReadDeadline(t)
}
