package main

import (
	"context"
	"net"
	"sync/atomic"

	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// traffic counts a network's bytes and packets, at the sender.
type traffic struct{ bytes, packets atomic.Int64 }

// countedHost is a host that counts its traffic.
type countedHost struct {
	*gridtest.Host
	traffic *traffic
}

// Listen implements grid.Network.
func (h countedHost) Listen(addr string) (net.Listener, error) {
	ln, err := h.Host.Listen(addr)
	return countedListener{ln, h.traffic}, err
}

// Dial implements grid.Network.
func (h countedHost) Dial(ctx context.Context, addr string) (net.Conn, error) {
	c, err := h.Host.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	return countedConn{c, h.traffic}, nil
}

// ListenPacket implements grid.Network.
func (h countedHost) ListenPacket(addr string) (net.PacketConn, error) {
	pc, err := h.Host.ListenPacket(addr)
	return countedPackets{pc, h.traffic}, err
}

type countedListener struct {
	net.Listener
	traffic *traffic
}

func (l countedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return countedConn{c, l.traffic}, nil
}

type countedConn struct {
	net.Conn
	traffic *traffic
}

func (c countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.traffic.bytes.Add(int64(n))
	return n, err
}

type countedPackets struct {
	net.PacketConn
	traffic *traffic
}

func (p countedPackets) WriteTo(b []byte, to net.Addr) (int, error) {
	n, err := p.PacketConn.WriteTo(b, to)
	p.traffic.bytes.Add(int64(n))
	p.traffic.packets.Add(1)
	return n, err
}
