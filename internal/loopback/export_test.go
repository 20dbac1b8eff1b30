package loopback

import (
	"math/rand/v2"
	"net"
	"strconv"
)

// LookAt has FreeAddrs look at the ports of some addresses alone, in their order, until the
// function that it returns is called.
func LookAt(addrs ...string) (end func()) {
	process.Lock()
	defer process.Unlock()
	untried, ports, fresh := process.untried, process.ports, process.fresh
	process.untried, process.ports, process.fresh = nil, nil, 0
	for _, addr := range addrs {
		_, text, _ := net.SplitHostPort(addr)
		port, _ := strconv.Atoi(text)
		process.ports = append(process.ports, port)
	}
	return func() {
		process.Lock()
		defer process.Unlock()
		process.untried, process.ports, process.fresh = untried, ports, fresh
	}
}

// Processes returns FreeAddrs of so many processes, and a function that ends them.
func Processes(n int) (freeAddrs []func(int) ([]string, error), end func()) {
	all := make([]*finder, n)
	for i := range all {
		all[i] = &finder{untried: rand.Perm(blocks)}
		freeAddrs = append(freeAddrs, all[i].find)
	}
	return freeAddrs, func() {
		for _, f := range all {
			for _, guard := range f.guards {
				_ = guard.Close()
			}
		}
	}
}
