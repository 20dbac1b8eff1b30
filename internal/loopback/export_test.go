package loopback

import (
	"net"
	"strconv"
)

// LookAt has FreeAddrs look at the ports of some addresses alone, in their order, until the
// function that it returns is called.
func LookAt(addrs ...string) (end func()) {
	order.Lock()
	defer order.Unlock()
	before := order.ports
	order.ports = nil
	for _, addr := range addrs {
		_, text, _ := net.SplitHostPort(addr)
		port, _ := strconv.Atoi(text)
		order.ports = append(order.ports, port-firstPort)
	}
	return func() {
		order.Lock()
		defer order.Unlock()
		order.ports = before
	}
}
