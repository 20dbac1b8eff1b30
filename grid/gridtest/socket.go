package gridtest

import (
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

type socket struct {
	host *Host
	addr *net.UDPAddr

	mu      sync.Mutex
	closed  bool
	paused  bool
	queue   []packet
	readBy  time.Time
	changed chan struct{}
}

type packet struct {
	from *net.UDPAddr
	data []byte
}

var _ net.PacketConn = (*socket)(nil)

// WriteTo sends a datagram to an address of any type with the text host:port. It never blocks and does
// not report a lost datagram.
func (s *socket) WriteTo(b []byte, addr net.Addr) (int, error) {
	n := s.host.net
	n.mu.Lock()
	defer n.mu.Unlock()
	to, port, err := s.host.locate(addr.String())
	switch {
	case err != nil:
	case s.host.crashed || s.host.sockets[s.addr.Port] != s:
		err = net.ErrClosed
	case len(b) > packetMax:
		err = syscall.EMSGSIZE
	}
	if err != nil {
		return 0, &net.OpError{Op: "write", Net: "udp", Source: s.addr, Addr: addr, Err: err}
	}
	from := s.host.machine
	if from.paused {
		return len(b), nil
	}
	p := packet{from: s.addr, data: slices.Clone(b)}
	if delay := n.delayBetween(from, to); delay == 0 {
		n.deliver(from, to, port, p)
	} else if !n.cuts[route{from.name, to.name}] {
		time.AfterFunc(delay, func() {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.deliver(from, to, port, p)
		})
	}
	return len(b), nil
}

// deliver must be called with mu held.
func (n *Network) deliver(from, to *machine, port int, p packet) {
	if to.host == nil || n.streams || n.cuts[route{from.name, to.name}] {
		return
	}
	if s := to.host.sockets[port]; s != nil {
		s.receive(p)
	}
}

func (s *socket) receive(p packet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) < packetQueue {
		s.queue = append(s.queue, p)
		s.wake()
	}
}

// wake must be called with mu held.
func (s *socket) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *socket) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		p, until, err := s.tryRead()
		if err != nil {
			return 0, nil, &net.OpError{Op: "read", Net: "udp", Source: s.addr, Err: err}
		}
		if p != nil {
			return copy(b, p.data), p.from, nil
		}
		until.wait(nil)
	}
}

func (s *socket) tryRead() (*packet, moment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, moment{}, net.ErrClosed
	case passed(s.readBy):
		return nil, moment{}, os.ErrDeadlineExceeded
	case len(s.queue) > 0 && !s.paused:
		p := s.queue[0]
		s.queue = s.queue[1:]
		return &p, moment{}, nil
	}
	return nil, moment{s.changed, s.readBy}, nil
}

func (s *socket) Close() error {
	n := s.host.net
	n.mu.Lock()
	defer n.mu.Unlock()
	if !s.shut() {
		return &net.OpError{Op: "close", Net: "udp", Source: s.addr, Err: net.ErrClosed}
	}
	return nil
}

// shut must be called with the network's mu held.
func (s *socket) shut() bool {
	if s.host.sockets[s.addr.Port] != s {
		return false
	}
	delete(s.host.sockets, s.addr.Port)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.queue = true, nil
	s.wake()
	return true
}

func (s *socket) setPaused(paused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = paused
	s.wake()
}

func (s *socket) LocalAddr() net.Addr { return s.addr }

func (s *socket) SetDeadline(t time.Time) error { return s.SetReadDeadline(t) }

func (s *socket) SetReadDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readBy = t
	s.wake()
	return nil
}

// SetWriteDeadline does nothing: a write never waits.
func (s *socket) SetWriteDeadline(time.Time) error { return nil }
