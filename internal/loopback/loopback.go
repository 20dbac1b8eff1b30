// Package loopback finds addresses for members that run on one machine. They have to know
// each other's before any of them has started.
package loopback

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// The ports that are looked at: below those that systems give to outgoing connections and to
// listeners without a port (from 32768 on Linux, 49152 elsewhere). One of those could be given
// away again before the caller listens.
const (
	firstPort = 12_000
	blocks    = 200
	blockSize = 100 // ports; the first one is the block's guard
)

// finder returns the addresses of one process. It takes blocks of ports, and listens at the first port of
// each until the process ends, so that no other process takes the block: two processes that look at the same
// moment, before either listens, find different ports.
type finder struct {
	sync.Mutex
	untried []int // blocks, the next one first
	ports   []int // of the blocks taken so far, the next one first
	fresh   int   // how many of ports have not been looked at yet; they come first
	guards  []net.PacketConn
}

var process = finder{untried: rand.Perm(blocks)}

// FreeAddrs returns addresses on 127.0.0.1 whose ports were free for both TCP and UDP a moment ago,
// which no other process gets from it, and which no earlier call of this process has returned as long as there
// are others. It fails if there are not enough.
func FreeAddrs(count int) (addrs []string, err error) { return process.find(count) }

func (f *finder) find(count int) (addrs []string, err error) {
	f.Lock()
	defer f.Unlock()
	for again := 0; len(addrs) < count; {
		if f.fresh == 0 && !f.take() {
			if again == len(f.ports) {
				return nil,
					fmt.Errorf("loopback: %d of %d ports from %d on 127.0.0.1 are free, and %d are needed; end other processes that "+
						"listen there: %w", len(addrs), len(f.ports), firstPort, count, err)
			}
			again++
		}
		port := f.ports[0]
		f.ports = append(f.ports[1:], port)
		f.fresh = max(0, f.fresh-1)
		addr := address(port)
		if e := free(addr); e != nil {
			err = e
			continue
		}
		addrs = append(addrs, addr)
	}
	return addrs, nil
}

// take takes a block that no other process has, and reports whether there was one.
func (f *finder) take() bool {
	for len(f.untried) > 0 {
		first := firstPort + f.untried[0]*blockSize
		f.untried = f.untried[1:]
		guard, err := net.ListenPacket("udp", address(first))
		if err != nil {
			continue
		}
		f.guards = append(f.guards, guard)
		fresh := make([]int, 0, blockSize-1+len(f.ports))
		for i := 1; i < blockSize; i++ {
			fresh = append(fresh, first+i)
		}
		f.fresh = len(fresh)
		f.ports = append(fresh, f.ports...)
		return true
	}
	return false
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// free returns why an address cannot be listened at, nil if it can.
func free(addr string) error {
	tcp, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	defer tcp.Close() //nolint:errcheck // nothing was accepted
	udp, err := net.ListenPacket("udp", addr)
	if err != nil {
		return err
	}
	return udp.Close()
}
