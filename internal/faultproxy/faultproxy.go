// Package faultproxy is a TCP proxy on loopback for tests: it cuts connections, holds
// them, delays answers, adds garbage, or forwards requests and drops the answers.
package faultproxy

import (
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// Fault is the way in which a proxy treats its connections. The zero value forwards
// everything.
type Fault struct {
	// Cut closes all connections, and new ones immediately.
	Cut bool
	// Hang forwards nothing in either direction until the next fault is set.
	Hang bool
	// Lose is the probability, 0 to 1, that an answer is dropped and its connection
	// reset. The request was forwarded, and the server has begun to answer it.
	Lose float64
	// Delay is how long answers are held back.
	Delay time.Duration
	// Garbage is the probability, 0 to 1, that random bytes are forwarded before a piece, in
	// either direction.
	Garbage float64
}

// Proxy forwards connections to one address. Start one with [Start].
type Proxy struct {
	target   string
	listener net.Listener
	workers  sync.WaitGroup

	mu      sync.Mutex
	fault   Fault
	changed chan struct{} // closed when fault changes or the proxy closes
	closed  bool
	open    map[net.Conn]struct{}
	lost    int
}

// Start returns a proxy of target that listens on a free port of 127.0.0.1.
func Start(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{target: target, listener: listener, changed: make(chan struct{}), open: map[net.Conn]struct{}{}}
	p.workers.Go(p.accept)
	return p, nil
}

// Addr returns the proxy's address.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Set makes the proxy treat connections in another way, those that exist too.
func (p *Proxy) Set(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
	close(p.changed)
	p.changed = make(chan struct{})
	if f.Cut {
		p.reset()
	}
}

// Lost returns the number of answers that were dropped.
func (p *Proxy) Lost() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// Close ends the proxy and its connections. A second call does nothing.
func (p *Proxy) Close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.changed)
		p.changed = make(chan struct{})
		p.reset()
		_ = p.listener.Close()
	}
	p.mu.Unlock()
	p.workers.Wait()
}

// reset closes all connections; the lock is held.
func (p *Proxy) reset() {
	for c := range p.open {
		abort(c)
		delete(p.open, c)
	}
}

// abort closes a connection so that its peer reads an error instead of an end.
func abort(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		if !p.keep(client) {
			continue
		}
		p.workers.Go(func() { p.serve(client) })
	}
}

// keep records an open connection, or closes it if no connection may be open.
func (p *Proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.fault.Cut {
		abort(c)
		return false
	}
	p.open[c] = struct{}{}
	return true
}

func (p *Proxy) serve(client net.Conn) {
	defer p.forget(client)
	server, err := net.Dial("tcp", p.target)
	if err != nil || !p.keep(server) {
		return
	}
	defer p.forget(server)
	var both sync.WaitGroup
	both.Go(func() { p.forward(server, client, p.request) })
	both.Go(func() { p.forward(client, server, p.answer) })
	both.Wait()
}

func (p *Proxy) forget(c net.Conn) {
	abort(c)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
}

// forward copies from one connection to the other, each piece after it was admitted, and
// ends both at the end of one.
func (p *Proxy) forward(to, from net.Conn, admit func() bool) {
	defer abort(from)
	defer func() { _ = to.Close() }() // bytes written before are still delivered
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !admit() {
				abort(to)
				return
			}
			if _, err := to.Write(append(p.garbage(), buf[:n]...)); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// request waits until a piece of a request may be forwarded.
func (p *Proxy) request() bool {
	f, ok := p.wait()
	return ok && !f.Cut
}

// answer waits until a piece of an answer may be forwarded. false: it is lost.
func (p *Proxy) answer() bool {
	f, ok := p.wait()
	if ok && f.Delay > 0 {
		p.mu.Lock()
		changed := p.changed
		p.mu.Unlock()
		select {
		case <-time.After(f.Delay):
		case <-changed:
			f, ok = p.wait()
		}
	}
	if !ok || f.Cut {
		return false
	}
	if f.Lose > 0 && rand.Float64() < f.Lose {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.lost++
		return false
	}
	return true
}

// garbageSize is the number of random bytes that are forwarded together.
const garbageSize = 64

// garbage returns the random bytes that go before a piece, often none.
func (p *Proxy) garbage() []byte {
	p.mu.Lock()
	share := p.fault.Garbage
	p.mu.Unlock()
	if share == 0 || rand.Float64() >= share {
		return nil
	}
	noise := make([]byte, garbageSize)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	return noise
}

// wait returns the fault as soon as it does not hang. false: the proxy is closed.
func (p *Proxy) wait() (Fault, bool) {
	for {
		p.mu.Lock()
		f, closed, changed := p.fault, p.closed, p.changed
		p.mu.Unlock()
		if closed || !f.Hang {
			return f, !closed
		}
		<-changed
	}
}
