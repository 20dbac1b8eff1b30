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
	firstPort = 20_000
	ports     = 12_000
)

// order is the order in which this process looks at them, a random one, so that processes which
// look at the same time find different ports.
var order struct {
	sync.Mutex
	ports []int // the next one first; guarded by the Mutex
}

// FreeAddrs returns addresses on 127.0.0.1 whose ports were free for both TCP and UDP a moment ago,
// and that no earlier call of this process has returned lately. It fails if there are not enough.
func FreeAddrs(count int) (addrs []string, err error) {
	order.Lock()
	defer order.Unlock()
	if order.ports == nil {
		order.ports = rand.Perm(ports)
	}
	for range len(order.ports) {
		if len(addrs) == count {
			return addrs, nil
		}
		i := order.ports[0]
		order.ports = append(order.ports[1:], i)
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(firstPort+i))
		if e := free(addr); e != nil {
			err = e
			continue
		}
		addrs = append(addrs, addr)
	}
	if len(addrs) == count {
		return addrs, nil
	}
	return nil,
		fmt.Errorf("loopback: %d of %d ports from %d on 127.0.0.1 are free, and %d are needed; end other processes that listen there: %w", len(addrs), len(order.ports), firstPort, count, err)
}

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
