// Package loopback finds addresses for members that run on one machine. They have to know
// each other's before any of them has started.
package loopback

import (
	"errors"
	"net"
)

// FreeAddrs returns addresses on 127.0.0.1, different ones, whose ports were free for
// both TCP and UDP a moment ago. It fails if the system has no ports to give.
func FreeAddrs(count int) (addrs []string, err error) {
	var held []interface{ Close() error } // until all are found, so that they differ
	defer func() {
		for _, h := range held {
			_ = h.Close()
		}
	}()
	for range 100 {
		if len(addrs) == count {
			return addrs, nil
		}
		tcp, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		held = append(held, tcp)
		udp, err := net.ListenPacket("udp", tcp.Addr().String())
		if err != nil {
			continue // taken by another process's UDP
		}
		held = append(held, udp)
		addrs = append(addrs, tcp.Addr().String())
	}
	return nil, errors.New("loopback: no free ports on 127.0.0.1; end other processes that listen there")
}
