package grid

import (
	"context"
	"net"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
)

// Network is the way to other members; nil in Config is that of the machine. A Network
// that also has LookupHost or LookupSRV, with the signatures of net.Resolver's, answers for
// host names or for services itself; with any other they go to the DNS.
type Network interface {
	// Listen accepts streams at addr, a host:port; port 0 picks a free one.
	Listen(addr string) (net.Listener, error)
	// ListenPacket opens a datagram socket at addr, a host:port. The addresses
	// it gives and takes are IP:port.
	ListenPacket(addr string) (net.PacketConn, error)
	// Dial opens a stream to addr, a host:port, and gives up when ctx ends.
	Dial(ctx context.Context, addr string) (net.Conn, error)
}

// NameRefusedError says that an address given in Join belongs to a grid of
// another name.
type NameRefusedError = transport.NameRefusedError

// Clock is where a member reads the wall clock; nil in Config is the real one.
// Durations are never measured with it.
type Clock interface {
	Now() time.Time
}

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

// dialAPI returns what opens connections to the APIs of other members.
func dialAPI(n Network) func(ctx context.Context, addr string) (net.Conn, error) {
	if _, real := n.(transport.Sockets); real {
		return client.TCP
	}
	return n.Dial
}
