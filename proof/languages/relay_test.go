//go:build linux

package languages

import (
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// latest is the longest delay of a reply: clients give up a request before.
const latest = 3 * time.Second

// relays returns an address in front of each member. One in five of its replies, or parts of them, arrives late.
func (g *grid) relays(t *testing.T, delayed *atomic.Int64) (out []string) {
	t.Helper()
	for _, to := range g.addrs() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				from, err := l.Accept()
				if err != nil {
					return
				}
				go relay(from, to, delayed)
			}
		}()
		out = append(out, l.Addr().String())
	}
	return out
}

// relay copies a connection to a member and back until either end closes it.
func relay(client net.Conn, to string, delayed *atomic.Int64) {
	defer func() { _ = client.Close() }()
	member, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer func() { _ = member.Close() }()
	go func() {
		_, _ = io.Copy(member, client)
		_ = member.Close()
	}()
	for part := make([]byte, 1<<14); ; {
		n, err := member.Read(part)
		if err != nil {
			return
		}
		if rand.IntN(5) == 0 {
			time.Sleep(rand.N(latest))
			delayed.Add(1)
		}
		if _, err := client.Write(part[:n]); err != nil {
			return
		}
	}
}
