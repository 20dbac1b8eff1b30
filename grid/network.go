package grid

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/snowgrid/snowgrid/client"
)

// Network is how a member reaches others; nil in Config is the real one. A
// Network that also has LookupHost, with the signature of net.Resolver's,
// answers for host names itself; with any other they go to the DNS.
type Network interface {
	// Listen accepts streams at addr, a host:port; port 0 picks a free one.
	Listen(addr string) (net.Listener, error)
	// ListenPacket opens a datagram socket at addr, a host:port. The addresses
	// it gives and takes are IP:port.
	ListenPacket(addr string) (net.PacketConn, error)
	// Dial opens a stream to addr, a host:port, and gives up when ctx ends.
	Dial(ctx context.Context, addr string) (net.Conn, error)
}

// resolver is what a Network may be besides.
type resolver interface {
	LookupHost(ctx context.Context, host string) ([]string, error)
}

// Clock is where a member reads the wall clock; nil in Config is the real one.
// Durations are never measured with it.
type Clock interface {
	Now() time.Time
}

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

// realNetwork is the network of the machine: TCP and UDP.
type realNetwork struct{}

func (realNetwork) Listen(addr string) (net.Listener, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, listenError("tcp", addr, err)
	}
	return ln, nil
}

func (realNetwork) ListenPacket(addr string) (net.PacketConn, error) {
	pc, err := net.ListenPacket("udp", addr)
	if err != nil {
		return nil, listenError("udp", addr, err)
	}
	return pc, nil
}

func (realNetwork) Dial(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", addr)
}

// dialAPI returns what opens connections to the APIs of other members.
func dialAPI(n Network) func(ctx context.Context, addr string) (net.Conn, error) {
	if _, real := n.(realNetwork); real {
		return client.TCP
	}
	return n.Dial
}

// listenError says what to do about the usual reasons not to get a port.
func listenError(network, addr string, err error) error {
	advice := "check the address"
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		advice = "the port is in use, perhaps by another member: stop that process, or choose another port (0 picks a free one)"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		advice = "this machine has no such address: listen on one it has and set AdvertiseHost to what others should use"
	case errors.Is(err, syscall.EACCES):
		advice = "this process may not open that port: choose one above 1023"
	}
	return fmt.Errorf("grid: cannot listen on %s %s: %s: %w", network, addr, advice, err)
}

// lookupAddrs returns every IP:port behind addr, a host:port or a bare host that
// gets defaultPort, sorted.
func lookupAddrs(ctx context.Context, nw Network, addr string, defaultPort int) ([]string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		host, port = addr, strconv.Itoa(defaultPort)
	}
	if net.ParseIP(host) != nil {
		return []string{net.JoinHostPort(host, port)}, nil
	}
	var names resolver = net.DefaultResolver
	if own, ok := nw.(resolver); ok {
		names = own
	}
	ips, err := names.LookupHost(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("grid: cannot resolve %q: %w", addr, err)
	}
	addrs := make([]string, len(ips))
	for i, ip := range ips {
		addrs[i] = net.JoinHostPort(ip, port)
	}
	slices.Sort(addrs)
	return slices.Compact(addrs), nil
}

// bindAttempts bounds the search for a port that is free for streams and
// datagrams alike.
const bindAttempts = 16

// listenBoth opens a listener and a socket on the same host and port.
func listenBoth(nw Network, bind string) (net.Listener, net.PacketConn, error) {
	host, port, err := net.SplitHostPort(bind)
	if err != nil {
		return nil, nil, fmt.Errorf("grid: the gossip address %q is not host:port: %w", bind, err)
	}
	for attempt := 1; ; attempt++ {
		ln, err := nw.Listen(bind)
		if err != nil {
			return nil, nil, err
		}
		_, chosen, err := net.SplitHostPort(ln.Addr().String())
		if err == nil {
			var socket net.PacketConn
			if socket, err = nw.ListenPacket(net.JoinHostPort(host, chosen)); err == nil {
				return ln, socket, nil
			}
		}
		_ = ln.Close()
		if port != "0" || attempt == bindAttempts || !errors.Is(err, syscall.EADDRINUSE) {
			return nil, nil, err
		}
	}
}

// advertisedAddr picks the one address others are told. memberlist passes on IPs,
// never names.
func advertisedAddr(ctx context.Context, nw Network, bound, host string) (netip.AddrPort, error) {
	at, err := netip.ParseAddrPort(bound)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("grid: the listener's address %q is not IP:port: %w", bound, err)
	}
	ip := at.Addr().Unmap()
	switch {
	case host != "":
		addrs, err := lookupAddrs(ctx, nw, net.JoinHostPort(host, strconv.Itoa(int(at.Port()))), 0)
		if err != nil {
			return netip.AddrPort{}, fmt.Errorf("grid: AdvertiseHost: %w", err)
		}
		if ip, err = preferredIP(addrs); err != nil {
			return netip.AddrPort{}, fmt.Errorf("grid: AdvertiseHost %q: %w", host, err)
		}
	case ip.IsUnspecified():
		if ip, err = machineIP(); err != nil {
			return netip.AddrPort{}, err
		}
	}
	return netip.AddrPortFrom(ip, at.Port()), nil
}

// preferredIP is the first IPv4 among addrs, each an IP:port, or else the first
// of any kind.
func preferredIP(addrs []string) (netip.Addr, error) {
	var found netip.Addr
	for _, addr := range addrs {
		at, err := netip.ParseAddrPort(addr)
		if err != nil {
			return netip.Addr{}, err
		}
		ip := at.Addr().Unmap()
		if ip.Is4() {
			return ip, nil
		}
		if !found.IsValid() {
			found = ip
		}
	}
	if !found.IsValid() {
		return netip.Addr{}, errors.New("it has no address")
	}
	return found, nil
}

// machineIP is the machine's first private address, or else its first public
// one.
func machineIP() (netip.Addr, error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Addr{}, fmt.Errorf("grid: cannot list this machine's addresses, set AdvertiseHost: %w", err)
	}
	var found netip.Addr
	for _, addr := range addrs {
		prefix, err := netip.ParsePrefix(addr.String())
		if err != nil || !prefix.Addr().IsGlobalUnicast() {
			continue
		}
		ip := prefix.Addr().Unmap()
		if ip.IsPrivate() {
			return ip, nil
		}
		if !found.IsValid() {
			found = ip
		}
	}
	if !found.IsValid() {
		return netip.Addr{}, errors.New("grid: this machine has no address that others can reach: set AdvertiseHost")
	}
	return found, nil
}

const (
	// handshakeTimeout is how long both sides of a new stream have to say who
	// they are.
	handshakeTimeout = 2 * time.Second
	// handshakesMax is how many accepted streams may be unfinished in their
	// handshake; one more drops the oldest.
	handshakesMax = 128
	// acceptDelayMax is the longest pause after an error of Accept, for
	// instance when the process is out of file descriptors.
	acceptDelayMax = time.Second
)

// acceptor accepts streams and has each say who it is in a goroutine of its
// own, so that one silent peer holds up nobody. Streams that did are in
// streams; all others are closed without a word.
//
// When too many are unfinished the oldest is dropped, not the newest: someone
// who opens streams and stays silent has to do so faster than an honest peer
// finishes its handshake.
type acceptor struct {
	ln      net.Listener
	greet   func(net.Conn) (net.Conn, error)
	streams chan net.Conn
	done    chan struct{}
	group   sync.WaitGroup

	mu      sync.Mutex
	closed  bool       // guarded by mu
	pending []net.Conn // unfinished handshakes, oldest first; guarded by mu
}

// newAcceptor starts accepting on ln. greet gets a stream with a deadline on
// it and returns the one to hand out.
func newAcceptor(ln net.Listener, greet func(net.Conn) (net.Conn, error)) *acceptor {
	a := &acceptor{
		ln:      ln,
		greet:   greet,
		streams: make(chan net.Conn, handshakesMax),
		done:    make(chan struct{}),
	}
	a.group.Go(a.accept)
	return a
}

// close ends the listener, every unfinished handshake and all goroutines. It
// may be called more than once.
func (a *acceptor) close() {
	a.mu.Lock()
	first, pending := !a.closed, a.pending
	a.closed, a.pending = true, nil
	a.mu.Unlock()
	if first {
		close(a.done)
		_ = a.ln.Close()
	}
	for _, conn := range pending {
		_ = conn.Close()
	}
	a.group.Wait()
	for {
		select {
		case conn := <-a.streams:
			_ = conn.Close()
		default:
			return
		}
	}
}

func (a *acceptor) accept() {
	var delay time.Duration
	for {
		conn, err := a.ln.Accept()
		switch {
		case err == nil:
			delay = 0
			a.admit(conn)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			delay = min(max(2*delay, 5*time.Millisecond), acceptDelayMax)
			select {
			case <-a.done:
				return
			case <-time.After(delay):
			}
		}
	}
}

// admit starts a handshake. It runs in accept only, which is part of the
// group, so the group cannot be found empty while it adds to it.
func (a *acceptor) admit(conn net.Conn) {
	drop := conn
	a.mu.Lock()
	if !a.closed {
		drop = nil
		if len(a.pending) == handshakesMax {
			drop = a.pending[0]
			a.pending = slices.Delete(a.pending, 0, 1)
		}
		a.pending = append(a.pending, conn)
		a.group.Go(func() { a.handshake(conn) })
	}
	a.mu.Unlock()
	if drop != nil {
		_ = drop.Close()
	}
}

func (a *acceptor) handshake(conn net.Conn) {
	_ = conn.SetDeadline(time.Now().Add(handshakeTimeout))
	stream, err := a.greet(conn)
	kept := a.finish(conn)
	if err != nil || !kept {
		if stream != nil {
			_ = stream.Close()
		}
		_ = conn.Close()
		return
	}
	_ = conn.SetDeadline(time.Time{})
	select {
	case a.streams <- stream:
	default: // nobody takes streams any more, or far too slowly
		_ = stream.Close()
	}
}

// finish reports whether conn is still wanted: neither dropped nor closed
// over.
func (a *acceptor) finish(conn net.Conn) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.Index(a.pending, conn)
	if i < 0 {
		return false
	}
	a.pending = slices.Delete(a.pending, i, i+1)
	return true
}
