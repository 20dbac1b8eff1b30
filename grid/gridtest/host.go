package gridtest

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/snowgrid/snowgrid/grid"
)

// Host is a Network seen from the process on one host. It implements
// grid.Network.
type Host struct {
	net     *Network
	machine *machine

	// All guarded by net.mu.
	crashed   bool
	listeners map[int]*listener
	sockets   map[int]*socket
}

var _ grid.Network = (*Host)(nil)

// Name returns the host's name.
func (h *Host) Name() string { return h.machine.name }

// IP returns the host's address.
func (h *Host) IP() netip.Addr { return h.machine.ip }

// LookupHost returns the IP of any host by its name.
func (h *Host) LookupHost(_ context.Context, name string) ([]string, error) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	m, err := h.named(name)
	if err != nil {
		return nil, err
	}
	return []string{m.ip.String()}, nil
}

// Listen accepts streams on one of the host's ports, 0 for a free one.
func (h *Host) Listen(addr string) (net.Listener, error) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	port, err := h.bind(addr, func(port int) bool { return h.listeners[port] != nil })
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Err: err}
	}
	ln := &listener{
		host:  h,
		addr:  h.tcpAddr(port),
		ready: make(chan struct{}, 1),
		done:  make(chan struct{}),
	}
	h.listeners[port] = ln
	return ln, nil
}

// ListenPacket opens a datagram socket on one of the host's ports, 0 for a free
// one.
func (h *Host) ListenPacket(addr string) (net.PacketConn, error) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	port, err := h.bind(addr, func(port int) bool { return h.sockets[port] != nil })
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: "udp", Err: err}
	}
	s := &socket{
		host:    h,
		addr:    net.UDPAddrFromAddrPort(netip.AddrPortFrom(h.machine.ip, uint16(port))),
		paused:  h.machine.paused,
		changed: make(chan struct{}),
	}
	h.sockets[port] = s
	return s, nil
}

// Dial opens a stream. Without a listener it fails immediately, with an error that is
// syscall.ECONNREFUSED; on a broken path it waits for ctx or 30 seconds.
func (h *Host) Dial(ctx context.Context, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, dialMax, syscall.ETIMEDOUT)
	defer cancel()
	d := dial{host: h, addr: addr}
	for ctx.Err() == nil {
		c, until, err := d.try()
		if err != nil {
			return nil, d.wrap(err)
		}
		if c != nil {
			return c, nil
		}
		until.wait(ctx.Done())
	}
	if errors.Is(context.Cause(ctx), syscall.ETIMEDOUT) {
		return nil, d.wrap(syscall.ETIMEDOUT)
	}
	return nil, d.wrap(ctx.Err())
}

// dial is one attempt to open a stream.
type dial struct {
	host     *Host
	addr     string
	answered time.Time // when the first packet's answer is back; zero: not sent
}

// try returns a stream, or an event to await before the next try.
func (d *dial) try() (*conn, moment, error) {
	n := d.host.net
	n.mu.Lock()
	defer n.mu.Unlock()
	to, port, err := d.host.locate(d.addr)
	if err != nil {
		return nil, moment{}, err
	}
	if d.host.crashed {
		return nil, moment{}, net.ErrClosed
	}
	f := n.faults(d.host.machine, to)
	if !f.open[0] || !f.open[1] {
		return nil, moment{changed: n.changed}, nil
	}
	if d.answered.IsZero() {
		d.answered = time.Now().Add(2 * f.delay)
	}
	if time.Now().Before(d.answered) {
		return nil, moment{changed: n.changed, at: d.answered}, nil
	}
	var ln *listener
	if to.host != nil {
		ln = to.host.listeners[port]
	}
	if ln == nil {
		return nil, moment{}, syscall.ECONNREFUSED
	}
	if len(ln.arrived) == backlog {
		return nil, moment{changed: n.changed, at: time.Now().Add(backlogRetry)}, nil
	}
	near, far := n.connect(d.host, ln, f)
	if isLoopback(d.addr) {
		near.link.ends[0].addr, near.link.ends[1].addr = onLoopback(near.link.ends[0].addr), onLoopback(ln.addr)
	}
	ln.arrived = append(ln.arrived, far)
	ln.tell()
	return near, moment{}, nil
}

func (d *dial) wrap(err error) error {
	return &net.OpError{Op: "dial", Net: "tcp", Addr: textAddr(d.addr), Err: err}
}

// connect must be called with mu held.
func (n *Network) connect(from *Host, ln *listener, f faults) (near, far *conn) {
	l := &link{net: n, faults: f, changed: make(chan struct{})}
	l.ends[0].host, l.ends[0].addr = from, from.tcpAddr(from.machine.nextPort())
	l.ends[1].host, l.ends[1].addr = ln.host, ln.addr
	n.links[l] = struct{}{}
	return &conn{l, 0}, &conn{l, 1}
}

// isLoopback reports whether an address names the host itself by its loopback interface.
func isLoopback(addr string) bool {
	host, _, _ := net.SplitHostPort(addr)
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// onLoopback returns addr with the loopback IP and the same port.
func onLoopback(addr *net.TCPAddr) *net.TCPAddr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: addr.Port}
}

func (h *Host) tcpAddr(port int) *net.TCPAddr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(h.machine.ip, uint16(port)))
}

// bind picks the port to listen on.
func (h *Host) bind(addr string, used func(port int) bool) (int, error) {
	at, port, err := h.locate(addr)
	switch {
	case err != nil:
		return 0, err
	case h.crashed:
		return 0, net.ErrClosed
	case at != h.machine:
		return 0, &net.AddrError{Err: "not an address of host " + h.machine.name, Addr: addr}
	case port != 0 && used(port):
		return 0, os.NewSyscallError("bind", syscall.EADDRINUSE)
	}
	for port == 0 {
		if p := h.machine.nextPort(); !used(p) {
			port = p
		}
	}
	return port, nil
}

func (m *machine) nextPort() int {
	m.port++
	if m.port > 65535 {
		m.port = firstPort
	}
	return m.port
}

// locate must be called with net.mu held.
func (h *Host) locate(addr string) (*machine, int, error) {
	name, text, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, 0, err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, 0, &net.AddrError{Err: "the port is not a number", Addr: addr}
	}
	m, err := h.named(name)
	return m, int(port), err
}

func (h *Host) named(name string) (*machine, error) {
	ip, err := netip.ParseAddr(name)
	switch {
	case name == "" || name == "localhost":
		return h.machine, nil
	case err != nil:
		return h.net.machine(name), nil
	case ip.Unmap().IsLoopback() || ip.IsUnspecified():
		return h.machine, nil
	}
	if m := h.net.byIP[ip.Unmap()]; m != nil {
		return m, nil
	}
	return nil, syscall.EHOSTUNREACH
}
