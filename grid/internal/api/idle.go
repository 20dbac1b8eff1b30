package api

import (
	"container/list"
	"net"
	"net/http"
	"sync"
	"time"
)

// DefaultIdle is the default idle timeout of HTTP/1.1 connections. Load balancers keep theirs for 60
// to 75 s, and answer 502 if the member closes one at the moment of use.
const DefaultIdle = 90 * time.Second

// idlers are the connections that have a place and no request, by kind and by peer, longest
// first. The longest idle one gives its place up if there is none left for a new connection and
// it is idle for longer than idleTimeout, for which every connection keeps its place. Its zero
// value is ready.
type idlers struct {
	mu    sync.Mutex // guards the fields below and the entries of connections
	kinds [kinds]list.List
	peers map[placeKey]*list.List
}

// idleEntry is the place of a connection in the lists, zero while it has a request.
type idleEntry struct {
	since        time.Time
	ofKind, peer *list.Element
}

// add adds a connection after its last request ended.
func (i *idlers) add(c *openConn, now time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if c.entry.peer != nil {
		return
	}
	of := i.peers[c.key]
	if of == nil {
		if i.peers == nil {
			i.peers = map[placeKey]*list.List{}
		}
		of = list.New()
		i.peers[c.key] = of
	}
	c.entry = idleEntry{since: now, ofKind: i.kinds[c.key.kind].PushBack(c), peer: of.PushBack(c)}
}

// remove removes a connection that has a request, or has ended.
func (i *idlers) remove(c *openConn) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if c.entry.peer == nil {
		return
	}
	i.kinds[c.key.kind].Remove(c.entry.ofKind)
	of := i.peers[c.key]
	of.Remove(c.entry.peer)
	if of.Len() == 0 {
		delete(i.peers, c.key)
	}
	c.entry = idleEntry{}
}

// longest returns the longest idle connection that may yield its place to a new one: from the same
// peer, or from the whole kind. It returns nil if none has been idle long enough.
func (i *idlers) longest(k placeKey, samePeer bool, now time.Time) *openConn {
	i.mu.Lock()
	defer i.mu.Unlock()
	of := &i.kinds[k.kind]
	if samePeer {
		of = i.peers[k]
	}
	if of == nil || of.Len() == 0 {
		return nil
	}
	c, _ := of.Front().Value.(*openConn)
	if now.Sub(c.entry.since) <= idleTimeout {
		return nil
	}
	return c
}

// noteState keeps track of connections without a request.
func (a *Server) noteState(conn net.Conn, state http.ConnState) {
	open := openConnOf(conn)
	if open == nil || open.share == nil {
		return
	}
	switch state {
	case http.StateIdle:
		open.waits.Store(true)
		a.idle.add(open, time.Now())
	case http.StateActive, http.StateHijacked, http.StateClosed:
		open.waits.Store(false)
		a.idle.remove(open)
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
