package loopback_test

import (
	"net"
	"slices"
	"testing"

	"github.com/snowgrid/snowgrid/internal/loopback"
)

// TestFreeAddrs: each address is another one, and can be listened at by both protocols.
func TestFreeAddrs(t *testing.T) {
	addrs, err := loopback.FreeAddrs(20)
	if err != nil || len(addrs) != 20 {
		t.Fatal(addrs, err)
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
		_ = tcp.Close()
	}
	if listened < len(addrs)/2 {
		t.Errorf("%d of %d addresses are free", listened, len(addrs))
	}
}
