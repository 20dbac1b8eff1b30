package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/snowgrid/snowgrid/grid/internal/acceptor"
	"github.com/snowgrid/snowgrid/internal/roster"
)

const (
	// packetMax is the largest datagram there is.
	packetMax = 64 << 10
	// packetQueue limits received datagrams that wait for memberlist.
	packetQueue = 1024
	// packetReadBuffer is the requested socket buffer size; the system may grant less.
	packetReadBuffer = 1 << 20
)

// GossipConfig configures a gossipTransport.
type GossipConfig struct {
	Network Network
	Grid    string // grid name, 1 to 255 bytes
	Bind    string // host:port to listen on, port 0 for a free one
	// AdvertiseHost is the advertised host name or IP; "" is the bound one, or a local one if Bind names
	// none.
	AdvertiseHost string
	Keys          *Keyring       // nil: clear text
	Release       roster.Release // of this process
	// Refused, if not nil, is called for messages that no gossip key opens. It must not block. Any process
	// can cause it.
	Refused func(err error)
	// NotAccepted, if not nil, gets the error of a stream that was not accepted. It must not block.
	NotAccepted func(error)
	// News, if not nil, is called for relayed messages about a node. It must not block.
	News func()
}

// Gossip carries memberlist over a Network: its datagrams as they
// are, its streams behind a greeting.
type Gossip struct {
	cfg       GossipConfig
	advertise netip.AddrPort
	socket    net.PacketConn
	acceptor  *acceptor.Acceptor
	limit     streamLimit // of accepted streams
	packets   chan *memberlist.Packet
	ctx       context.Context // ends with Shutdown
	cancel    context.CancelFunc
	group     sync.WaitGroup

	largeFrames chan struct{} // a place for each large frame that is being read

	mu      sync.Mutex    // guards the fields below
	noKey   *RefusedError // the last one by key, nil if that address has the key now
	refused *RefusedError // likewise by name or release
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
	t := &Gossip{cfg: cfg, advertise: advertise, socket: socket, packets: make(chan *memberlist.Packet, packetQueue),
		largeFrames: make(chan struct{}, largeFramesMax)}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	accepting := handshakes(t.welcome)
	accepting.Failed = cfg.NotAccepted
	t.acceptor = acceptor.New(ln, accepting)
	t.group.Go(t.receive)
	return t, nil
}

// Addr returns the advertised IP:port.
func (t *Gossip) Addr() string { return t.advertise.String() }

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
func (t *Gossip) StreamCh() <-chan net.Conn { return t.acceptor.Streams }

// DialAddressTimeout implements memberlist.NodeAwareTransport.
func (t *Gossip) DialAddressTimeout(addr memberlist.Address, timeout time.Duration) (net.Conn, error) {
	return t.DialTimeout(addr.Addr, timeout)
}

// receive passes datagrams on until Shutdown. It drops datagrams that memberlist is too slow for, as
// any network may.
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
		if n == 0 || !t.admits(buf[:n], from) {
			continue
		}
		select {
		case t.packets <- &memberlist.Packet{Buf: bytes.Clone(buf[:n]), From: from, Timestamp: now}:
		default:
		}
	}
}

// admits reports whether memberlist may have a datagram. With a key that is one which a key
// opens: whatever is in it, a member has sent.
func (t *Gossip) admits(b []byte, from net.Addr) bool {
	plain := b
	if t.cfg.Keys != nil {
		var err error
		if plain, err = t.cfg.Keys.openPacket(b, t.cfg.Grid); err != nil {
			t.refuse(fmt.Errorf("%w; a datagram from %s", err, from))
			return false
		}
	}
	news, err := checkPacket(plain)
	if err == nil && news && t.cfg.News != nil {
		t.cfg.News()
	}
	return err == nil
}

// refuse reports a message that was not opened.
func (t *Gossip) refuse(err error) {
	if t.cfg.Refused != nil {
		t.cfg.Refused(err)
	}
}

// Shutdown implements memberlist.Transport. It ends every goroutine and
// unfinished dial of the transport; streams handed to memberlist are its own.
func (t *Gossip) Shutdown() error {
	t.cancel()
	_ = t.socket.Close()
	t.acceptor.Close()
	t.group.Wait()
	return nil
}
