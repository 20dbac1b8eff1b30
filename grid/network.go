package grid

import (
	"context"
	"net"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/internal/calls"
)

// Network connects members; nil in Config is the machine's network. A Network that also has
// LookupHost or LookupSRV, with the signatures of net.Resolver's, resolves host names or services
// itself; otherwise the DNS does.
type Network interface {
	// Listen accepts streams at addr, a host:port; port 0 picks a free one.
	Listen(addr string) (net.Listener, error)
	// ListenPacket opens a datagram socket at addr, a host:port. The addresses
	// it gives and takes are IP:port.
	ListenPacket(addr string) (net.PacketConn, error)
	// Dial opens a stream to addr, a host:port, and gives up when ctx ends.
	Dial(ctx context.Context, addr string) (net.Conn, error)
}

// Clock provides a member's wall clock; nil in Config is the real one. Durations are never measured
// with it.
type Clock interface {
	Now() time.Time
}

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

// dialAPI returns a function that dials other members' APIs.
func dialAPI(n Network) func(ctx context.Context, addr string) (net.Conn, error) {
	if _, real := n.(transport.Sockets); real {
		return calls.TCP
	}
	return n.Dial
}
