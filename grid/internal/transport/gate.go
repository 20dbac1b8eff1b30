package transport

import (
	"context"
	"net"
	"sync"
	"time"
)

// Gate holds the messages of a member back for a time, in both directions, as if its process
// were stopped: nothing is lost or refused, and everything continues when the gate opens. A
// nil Gate is always open.
type Gate struct {
	mu    sync.Mutex // guards opens; never held while waiting
	opens time.Time
}

// Shut shuts the gate for d from now on. A gate that is shut for longer already stays so.
func (g *Gate) Shut(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if until := time.Now().Add(d); until.After(g.opens) {
		g.opens = until
	}
}

// Wait returns when the gate is open or done is closed.
func (g *Gate) Wait(done <-chan struct{}) {
	for left := g.left(); left > 0; left = g.left() {
		select {
		case <-time.After(left):
		case <-done:
			return
		}
	}
}

// Open reports whether the gate is open.
func (g *Gate) Open() bool { return g.left() <= 0 }

func (g *Gate) left() time.Duration {
	if g == nil {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opens.IsZero() {
		return 0
	}
	return time.Until(g.opens)
}

// Behind returns a Network that sends its streams and datagrams through a gate; with nil, n itself.
func Behind(n Network, g *Gate) Network {
	if g == nil {
		return n
	}
	return gatedNetwork{n, ResolverOf(n), g}
}

type gatedNetwork struct {
	Network
	Resolver // of the Network that is behind the gate
	gate     *Gate
}

func (n gatedNetwork) Listen(addr string) (net.Listener, error) {
	ln, err := n.Network.Listen(addr)
	if err != nil {
		return nil, err
	}
	return gatedListener{ln, n.gate}, nil
}

func (n gatedNetwork) ListenPacket(addr string) (net.PacketConn, error) {
	socket, err := n.Network.ListenPacket(addr)
	if err != nil {
		return nil, err
	}
	return &gatedSocket{PacketConn: socket, gate: n.gate, closed: make(chan struct{})}, nil
}

func (n gatedNetwork) Dial(ctx context.Context, addr string) (net.Conn, error) {
	n.gate.Wait(ctx.Done())
	conn, err := n.Network.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	return newGatedConn(conn, n.gate), nil
}

type gatedListener struct {
	net.Listener
	gate *Gate
}

func (l gatedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newGatedConn(conn, l.gate), nil
}

type gatedConn struct {
	net.Conn
	gate   *Gate
	once   sync.Once
	closed chan struct{}
}

func newGatedConn(conn net.Conn, g *Gate) *gatedConn {
	return &gatedConn{Conn: conn, gate: g, closed: make(chan struct{})}
}

func (c *gatedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.gate.Wait(c.closed)
	return n, err
}

func (c *gatedConn) Write(b []byte) (int, error) {
	c.gate.Wait(c.closed)
	return c.Conn.Write(b)
}

func (c *gatedConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

type gatedSocket struct {
	net.PacketConn
	gate   *Gate
	once   sync.Once
	closed chan struct{}
}

func (s *gatedSocket) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, err := s.PacketConn.ReadFrom(b)
	s.gate.Wait(s.closed)
	return n, from, err
}

func (s *gatedSocket) WriteTo(b []byte, to net.Addr) (int, error) {
	s.gate.Wait(s.closed)
	return s.PacketConn.WriteTo(b, to)
}

func (s *gatedSocket) Close() error {
	s.once.Do(func() { close(s.closed) })
	return s.PacketConn.Close()
}

// SetReadBuffer sets the size of the system's buffer, if the socket has one.
func (s *gatedSocket) SetReadBuffer(bytes int) error {
	if sized, ok := s.PacketConn.(interface{ SetReadBuffer(bytes int) error }); ok {
		return sized.SetReadBuffer(bytes)
	}
	return nil
}
