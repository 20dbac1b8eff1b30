package loopback_test

import (
	"net"
	"slices"
	"testing"

	"github.com/snowgrid/snowgrid/internal/loopback"
)

// TestFreeAddrs: each address is another one, can be listened at by both protocols, and is none
// that a system gives to a listener without a port, or to an outgoing connection.
func TestFreeAddrs(t *testing.T) {
	var addrs []string
	for range 2 {
		some, err := loopback.FreeAddrs(10)
		if err != nil || len(some) != 10 {
			t.Fatal(some, err)
		}
		addrs = append(addrs, some...)
	}
	if slices.Sort(addrs); len(slices.Compact(slices.Clone(addrs))) != len(addrs) {
		t.Errorf("an address is there twice: %v", addrs)
	}
	listened := 0 // another process may have taken one meanwhile
	for _, addr := range addrs {
		tcp, err := net.Listen("tcp", addr)
		if err != nil {
			continue
		}
		if udp, err := net.ListenPacket("udp", addr); err == nil {
			listened++
			_ = udp.Close()
		}
		if port := tcp.Addr().(*net.TCPAddr).Port; port >= 32768 {
			t.Errorf("port %d may be given to any process", port)
		}
		_ = tcp.Close()
	}
	if listened < len(addrs)/2 {
		t.Errorf("%d of %d addresses are free", listened, len(addrs))
	}
}

// TestProcessesGetDifferentAddrs: processes that look for addresses before any of them listens get different
// ones, and none is returned twice.
func TestProcessesGetDifferentAddrs(t *testing.T) {
	const processes, each = 4, 600
	freeAddrs, end := loopback.Processes(processes)
	defer end()
	seen := map[string]bool{}
	for range each / 3 {
		for i := range processes {
			addrs, err := freeAddrs[i](3)
			if err != nil {
				t.Fatal(err)
			}
			for _, addr := range addrs {
				if seen[addr] {
					t.Errorf("%s was returned twice", addr)
				}
				seen[addr] = true
			}
		}
	}
	if len(seen) != processes*each {
		t.Errorf("%d addresses, want %d", len(seen), processes*each)
	}
}

// TestTakenAddrsAreNotFree: an address that is listened at by either protocol is not returned, and
// too many are refused.
func TestTakenAddrsAreNotFree(t *testing.T) {
	held, err := loopback.FreeAddrs(3)
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", held[0])
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	udp, err := net.ListenPacket("udp", held[1])
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	defer loopback.LookAt(held...)()
	if addrs, err := loopback.FreeAddrs(1); err != nil || addrs[0] != held[2] {
		t.Errorf("free: %v, %v; want %v", addrs, err, held[2])
	}
	if addrs, err := loopback.FreeAddrs(2); err == nil {
		t.Errorf("%v are free", addrs)
	} else {
		t.Log(err)
	}
}
