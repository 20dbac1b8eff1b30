package gridtest

import (
	"net"
	"time"
)

type listener struct {
	host    *Host
	addr    *net.TCPAddr
	arrived []*conn       // guarded by the network's mu
	ready   chan struct{} // has a token when there may be some
	done    chan struct{}
}

func (ln *listener) Addr() net.Addr { return ln.addr }

func (ln *listener) Accept() (net.Conn, error) {
	for {
		select {
		case <-ln.done:
			return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: ln.addr, Err: net.ErrClosed}
		case <-ln.ready:
			if c := ln.next(); c != nil {
				return c, nil
			}
		}
	}
}

// next removes the stream that arrived first, nil if there is none.
func (ln *listener) next() *conn {
	ln.host.net.mu.Lock()
	defer ln.host.net.mu.Unlock()
	if len(ln.arrived) == 0 {
		return nil
	}
	c := ln.arrived[0]
	ln.arrived = ln.arrived[1:]
	ln.tell()
	return c
}

// tell wakes the next Accept if there are streams. The caller holds the network's mu.
func (ln *listener) tell() {
	if len(ln.arrived) == 0 {
		return
	}
	select {
	case ln.ready <- struct{}{}:
	default:
	}
}

func (ln *listener) Close() error {
	n := ln.host.net
	n.mu.Lock()
	defer n.mu.Unlock()
	if !ln.shut() {
		return &net.OpError{Op: "close", Net: "tcp", Addr: ln.addr, Err: net.ErrClosed}
	}
	return nil
}

// shut must be called with the network's mu held. It resets the streams
// that were not accepted.
func (ln *listener) shut() bool {
	if ln.host.listeners[ln.addr.Port] != ln {
		return false
	}
	delete(ln.host.listeners, ln.addr.Port)
	close(ln.done)
	for _, c := range ln.arrived {
		ln.host.net.drop(c)
	}
	ln.arrived = nil
	return true
}

// moment is the event that a blocked call waits for: a change, or a time unless that is
// zero.
type moment struct {
	changed <-chan struct{}
	at      time.Time
}

func (m moment) wait(done <-chan struct{}) {
	var due <-chan time.Time
	if !m.at.IsZero() {
		t := time.NewTimer(time.Until(m.at))
		defer t.Stop()
		due = t.C
	}
	select {
	case <-done:
	case <-m.changed:
	case <-due:
	}
}

// earliest ignores times that are zero.
func earliest(times ...time.Time) time.Time {
	var found time.Time
	for _, t := range times {
		if !t.IsZero() && (found.IsZero() || t.Before(found)) {
			found = t
		}
	}
	return found
}

func passed(deadline time.Time) bool {
	return !deadline.IsZero() && !time.Now().Before(deadline)
}

type textAddr string

func (textAddr) Network() string  { return "tcp" }
func (a textAddr) String() string { return string(a) }
