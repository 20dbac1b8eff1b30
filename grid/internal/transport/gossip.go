package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// Every gossip stream opens with a greeting of each side, the dialer's first:
//
//	+---------+----------+--------+-----------------+
//	| S N O W | protocol | length | name            |
//	| 4 bytes | 1 byte   | 1 byte | 0 to 255 bytes  |
//	+---------+----------+--------+-----------------+
//
// The name is the sender's grid name. A listener of another grid, or of another
// protocol, answers too and then closes, so that a wrong Join is told apart
// from a dead member. Later protocols keep this form.
const (
	greetingMagic  = "SNOW"
	GossipProtocol = 0x11
	gridNameMax    = 255
)

const (
	// packetMax is the largest datagram there is.
	packetMax = 64 << 10
	// packetQueue is how many received datagrams may wait for memberlist.
	packetQueue = 1024
	// packetReadBuffer is asked of the system for the socket; less is fine.
	packetReadBuffer = 1 << 20
)

var errNotGreeting = errors.New("grid: the stream does not open with a snowgrid greeting")

// NameRefusedError says that an address given in Join belongs to a grid of
// another name.
type NameRefusedError struct {
	Addr   string // the address that was dialed
	Ours   string // this member's grid name
	Theirs string // the grid name of the member at Addr
}

func (e *NameRefusedError) Error() string {
	return fmt.Sprintf("grid: a member at %s belongs to grid %q, this member is configured for grid %q: set the same Name or fix Join",
		e.Addr, e.Theirs, e.Ours)
}

// Greeting opens one side of a gossip stream.
type Greeting struct {
	Protocol byte
	Name     string
}

// Encode returns the greeting as it is sent.
func (g Greeting) Encode() []byte {
	b := make([]byte, 0, len(greetingMagic)+2+len(g.Name))
	b = append(b, greetingMagic...)
	b = append(b, g.Protocol, byte(len(g.Name)))
	return append(b, g.Name...)
}

// readGreeting takes exactly one greeting off r.
func readGreeting(r io.Reader) (Greeting, error) {
	var head [len(greetingMagic) + 2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Greeting{}, err
	}
	if !bytes.HasPrefix(head[:], []byte(greetingMagic)) {
		return Greeting{}, errNotGreeting
	}
	name := make([]byte, head[len(greetingMagic)+1])
	if _, err := io.ReadFull(r, name); err != nil {
		return Greeting{}, err
	}
	return Greeting{Protocol: head[len(greetingMagic)], Name: string(name)}, nil
}

// GossipConfig configures a gossipTransport.
type GossipConfig struct {
	Network Network
	Grid    string // grid name, 1 to 255 bytes
	Bind    string // host:port to listen on, port 0 for one that is free
	// AdvertiseHost is the host name or IP others are told; "" is the one
	// bound, or one of the machine's when Bind names none.
	AdvertiseHost string
	Keyed         bool // datagrams are encrypted
}

// Gossip carries memberlist over a Network: its datagrams as they
// are, its streams behind a greeting.
type Gossip struct {
	network   Network
	grid      string
	advertise netip.AddrPort
	socket    net.PacketConn
	acceptor  *acceptor
	limit     streamLimit // of accepted streams
	keyed     bool
	packets   chan *memberlist.Packet
	ctx       context.Context // ends with Shutdown
	cancel    context.CancelFunc
	group     sync.WaitGroup

	mu      sync.Mutex
	refused *NameRefusedError // guarded by mu
}

var _ memberlist.NodeAwareTransport = (*Gossip)(nil)

// NewGossip listens for streams and datagrams on one port.
func NewGossip(ctx context.Context, cfg GossipConfig) (*Gossip, error) {
	if n := len(cfg.Grid); n == 0 || n > gridNameMax {
		return nil, fmt.Errorf("grid: the grid name has %d bytes: choose one of 1 to %d", n, gridNameMax)
	}
	ln, socket, err := listenBoth(cfg.Network, cfg.Bind)
	if err != nil {
		return nil, err
	}
	advertise, err := Advertised(ctx, cfg.Network, ln.Addr().String(), cfg.AdvertiseHost)
	if err != nil {
		_ = ln.Close()
		_ = socket.Close()
		return nil, err
	}
	if s, ok := socket.(interface{ SetReadBuffer(bytes int) error }); ok {
		_ = s.SetReadBuffer(packetReadBuffer)
	}
	t := &Gossip{
		network:   cfg.Network,
		grid:      cfg.Grid,
		advertise: advertise,
		socket:    socket,
		keyed:     cfg.Keyed,
		packets:   make(chan *memberlist.Packet, packetQueue),
	}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.acceptor = newAcceptor(ln, t.welcome)
	t.group.Go(t.receive)
	return t, nil
}

// Addr is the IP:port others are told.
func (t *Gossip) Addr() string { return t.advertise.String() }

// Refusal is the last time an address turned out to belong to another grid, nil
// if none did. memberlist's Join flattens errors to text: ask here instead. A
// later success at the same address clears it.
func (t *Gossip) Refusal() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refused == nil {
		return nil
	}
	return t.refused
}

// FinalAdvertiseAddr implements memberlist.Transport. An IP set in memberlist's
// own configuration wins.
func (t *Gossip) FinalAdvertiseAddr(ip string, port int) (net.IP, int, error) {
	if ip == "" {
		return t.advertise.Addr().AsSlice(), int(t.advertise.Port()), nil
	}
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return nil, 0, fmt.Errorf("grid: the advertised address %q is not an IP: %w", ip, err)
	}
	return addr.Unmap().AsSlice(), port, nil
}

// WriteTo implements memberlist.Transport.
func (t *Gossip) WriteTo(b []byte, addr string) (time.Time, error) {
	to, err := netip.ParseAddrPort(addr)
	if err != nil {
		return time.Time{}, fmt.Errorf("grid: gossip to %q: %w", addr, err)
	}
	_, err = t.socket.WriteTo(b, net.UDPAddrFromAddrPort(to))
	return time.Now(), err
}

// WriteToAddress implements memberlist.NodeAwareTransport.
func (t *Gossip) WriteToAddress(b []byte, addr memberlist.Address) (time.Time, error) {
	return t.WriteTo(b, addr.Addr)
}

// PacketCh implements memberlist.Transport.
func (t *Gossip) PacketCh() <-chan *memberlist.Packet { return t.packets }

// StreamCh implements memberlist.Transport.
func (t *Gossip) StreamCh() <-chan net.Conn { return t.acceptor.streams }

// DialAddressTimeout implements memberlist.NodeAwareTransport.
func (t *Gossip) DialAddressTimeout(addr memberlist.Address, timeout time.Duration) (net.Conn, error) {
	return t.DialTimeout(addr.Addr, timeout)
}

// DialTimeout implements memberlist.Transport. The error is a *NameRefusedError
// if a member of another grid answers.
func (t *Gossip) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(t.ctx, timeout)
	defer cancel()
	conn, err := t.network.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	if err := t.introduce(ctx, conn, addr); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &gossipStream{Conn: conn}, nil
}

// introduce is the dialer's half of the greeting.
func (t *Gossip) introduce(ctx context.Context, conn net.Conn, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	interrupt := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	theirs, err := t.exchange(conn)
	if !interrupt() && err == nil {
		err = ctx.Err() // the deadline in the past stays on the stream
	}
	if err != nil {
		return fmt.Errorf("grid: greeting with %s: %w", addr, err)
	}
	return t.judge(addr, theirs)
}

func (t *Gossip) exchange(conn net.Conn) (Greeting, error) {
	if _, err := conn.Write(t.greeting().Encode()); err != nil {
		return Greeting{}, err
	}
	return readGreeting(conn)
}

func (t *Gossip) judge(addr string, theirs Greeting) error {
	if theirs.Protocol != GossipProtocol {
		return fmt.Errorf("grid: %s speaks protocol %#x, this member's gossip %#x: join gossip addresses, and run versions of snowgrid that go together",
			addr, theirs.Protocol, GossipProtocol)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if theirs.Name != t.grid {
		t.refused = &NameRefusedError{Addr: addr, Ours: t.grid, Theirs: theirs.Name}
		return t.refused
	}
	if t.refused != nil && t.refused.Addr == addr {
		t.refused = nil
	}
	return nil
}

// welcome is the listener's half of the greeting. It answers every greeting,
// and keeps only streams of its own grid.
func (t *Gossip) welcome(conn net.Conn) (net.Conn, error) {
	theirs, err := readGreeting(conn)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(t.greeting().Encode()); err != nil {
		return nil, err
	}
	if theirs != t.greeting() {
		return nil, errNotGreeting
	}
	limited := t.limit.wrap(conn)
	limited.admit()
	return &gossipStream{Conn: limited}, nil
}

func (t *Gossip) greeting() Greeting {
	return Greeting{Protocol: GossipProtocol, Name: t.grid}
}

// receive passes datagrams on until Shutdown. What memberlist is too slow for
// is dropped, as any network may.
func (t *Gossip) receive() {
	buf := make([]byte, packetMax)
	for {
		n, from, err := t.socket.ReadFrom(buf)
		now := time.Now()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			select {
			case <-t.ctx.Done():
				return
			case <-time.After(5 * time.Millisecond):
				continue
			}
		}
		if n == 0 || !t.keyed && checkPacket(buf[:n]) != nil {
			continue
		}
		select {
		case t.packets <- &memberlist.Packet{Buf: bytes.Clone(buf[:n]), From: from, Timestamp: now}:
		default:
		}
	}
}

// Shutdown implements memberlist.Transport. It ends every goroutine and
// unfinished dial of the transport; streams handed to memberlist are its own.
func (t *Gossip) Shutdown() error {
	t.cancel()
	_ = t.socket.Close()
	t.acceptor.close()
	t.group.Wait()
	return nil
}
