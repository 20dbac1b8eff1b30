// Package transport carries members' gossip and Raft messages over a Network. It limits the resources
// that a peer can take in this process: unfinished handshakes, streams, message sizes and shapes. It
// refuses messages that no member sends:
//
//	datagram --> gossippacket.go --> memberlist
//	stream ---> package acceptor (handshake) --> streamlimit.go --> gossipstream.go --> memberlist
//	                                                      \-> raftrequest.go --> raftguard.go --> Raft
//
// The package uses neither the roster nor the member; callers pass what it needs.
package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/snowgrid/snowgrid/grid/internal/acceptor"
	"github.com/snowgrid/snowgrid/internal/tcp"
)

// Network is the way to other members, as in package grid.
type Network interface {
	// Listen accepts streams at addr, a host:port; port 0 picks a free one.
	Listen(addr string) (net.Listener, error)
	// ListenPacket opens a datagram socket at addr, a host:port. The addresses
	// it gives and takes are IP:port.
	ListenPacket(addr string) (net.PacketConn, error)
	// Dial opens a stream to addr, a host:port, and gives up when ctx ends.
	Dial(ctx context.Context, addr string) (net.Conn, error)
}

// hostResolver is a Network that resolves host names itself.
type hostResolver interface {
	LookupHost(ctx context.Context, host string) ([]string, error)
}

// serviceResolver is a Network that resolves the names of services itself.
type serviceResolver interface {
	LookupSRV(ctx context.Context, service, proto, name string) (string, []*net.SRV, error)
}

// handshakes returns the limits of a listener for members, and its handshake.
func handshakes(greet func(net.Conn) (net.Conn, error)) acceptor.Config {
	return acceptor.Config{Greet: greet, Timeout: acceptor.Timeout, Handshakes: acceptor.Handshakes,
		PerAddress: acceptor.Handshakes * 3 / 4}
}

// Sockets is the network of the machine: TCP and UDP.
type Sockets struct{}

// Listen opens a TCP listener.
func (Sockets) Listen(addr string) (net.Listener, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, listenError("tcp", addr, err)
	}
	return ln, nil
}

// ListenPacket opens a UDP socket.
func (Sockets) ListenPacket(addr string) (net.PacketConn, error) {
	pc, err := net.ListenPacket("udp", addr)
	if err != nil {
		return nil, listenError("udp", addr, err)
	}
	return pc, nil
}

// Dial opens a TCP connection.
func (Sockets) Dial(ctx context.Context, addr string) (net.Conn, error) {
	return tcp.Dial(ctx, net.Dialer{}, addr)
}

// listenError returns an error with the remedy for the usual reasons of a failed listen.
func listenError(network, addr string, err error) error {
	advice := "check the address"
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		advice = "the port is in use, perhaps by another member: stop that process, or choose another port (0 picks a free " +
			"one)"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		advice = "this machine has no such address: listen on one it has and set AdvertiseHost (--advertise-host) to " +
			"what others should use"
	case errors.Is(err, syscall.EACCES):
		advice = "this process may not open that port: choose one above 1023"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		advice = "raise this process's limit of open files (ulimit -n)"
	}
	return fmt.Errorf("grid: cannot listen on %s %s: %s: %w", network, addr, advice, err)
}
