//go:build linux

package chaos

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// echo is a listener at one end of a network that sends back every line.
func echo(t *testing.T, e *end) (addr string) {
	t.Helper()
	addr = net.JoinHostPort(e.ip.String(), "7000")
	var listener net.Listener
	err := inside(e.ns, func() (err error) { listener, err = net.Listen("tcp", addr); return err })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					if _, err := fmt.Fprintln(conn, lines.Text()); err != nil {
						return
					}
				}
			}()
		}
	}()
	return addr
}

// wire is a connection between two ends; its rounds go there and back.
type wire struct {
	t    *testing.T
	conn net.Conn
	back *bufio.Reader
}

func connect(t *testing.T, from *end, addr string) *wire {
	t.Helper()
	var conn net.Conn
	err := inside(from.ns, func() (err error) { conn, err = net.DialTimeout("tcp", addr, 5*time.Second); return err })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &wire{t: t, conn: conn, back: bufio.NewReader(conn)}
}

// slowest sends lines until one took as long as wanted, and returns how long that
// took; it gives up after 500, or at an error: each may well come through a loss.
func (w *wire) slowest(wanted, limit time.Duration) (took time.Duration, err error) {
	for range 500 {
		if took, err = w.round(limit); err != nil || took >= wanted {
			return took, err
		}
	}
	return took, nil
}

// round sends a line of some packets and waits for it, no longer than limit.
func (w *wire) round(limit time.Duration) (time.Duration, error) {
	w.t.Helper()
	began := time.Now()
	if err := w.conn.SetDeadline(began.Add(limit)); err != nil {
		w.t.Fatal(err)
	}
	if _, err := fmt.Fprintln(w.conn, strings.Repeat("here", 1000)); err != nil {
		return 0, err
	}
	_, err := w.back.ReadString('\n')
	return time.Since(began), err
}

// TestNetworkFaultsBite shows that each fault of the network is one: a wire between
// two ends is cut or slow under it and whole after it, and one between two others is
// whole meanwhile. A lost packet shows as the time until it is sent again.
func TestNetworkFaultsBite(t *testing.T) {
	n := newNetwork(t)
	a, b, c := n.add(t, "a"), n.add(t, "b"), n.add(t, "c")
	atA, atB := echo(t, a), echo(t, b)
	const soon, later = 200 * time.Millisecond, 10 * time.Second
	tests := []struct {
		name  string
		begin func() (func() error, error)
		least time.Duration // of a round between a and b; 0 = it is cut
		apart bool          // a and c have the fault as well
		lossy bool          // the same packet may be lost until a round's time is over
	}{
		{"two-way cut", func() (func() error, error) {
			return n.drop(rule{at: a, way: out, share: 1}, rule{at: a, way: in, share: 1})
		}, 0, true, false},
		{"one-way cut out", func() (func() error, error) { return n.drop(rule{at: a, way: out, share: 1}) }, 0, true, false},
		{"one-way cut in", func() (func() error, error) { return n.drop(rule{at: a, way: in, share: 1}) }, 0, true, false},
		{"cut of a pair", func() (func() error, error) { return n.drop(rule{at: a, way: out, peer: b, share: 1}) },
			0, false, false},
		{"cut of a pair, in", func() (func() error, error) { return n.drop(rule{at: a, way: in, peer: b, share: 1}) }, 0,
			false, false},
		{"link down", func() (func() error, error) { return n.unplug(a) }, 0, true, false},
		{"delay", func() (func() error, error) { return n.delay(a, soon, 2*soon) }, soon, true, false},
		{"loss of a third", func() (func() error, error) { return n.drop(rule{at: a, way: out, share: 0.3}) }, soon,
			true, true},
		{"narrow line", func() (func() error, error) { return n.slow(a, 100_000) }, soon, true, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ab, cb, ca := connect(t, a, atB), connect(t, c, atB), connect(t, c, atA)
			heal, err := test.begin()
			if err != nil {
				t.Fatal(err)
			}
			limit := later
			if test.least == 0 {
				limit = soon
			}
			took, err := ab.slowest(test.least, limit)
			if cut := err != nil && !test.lossy; cut != (test.least == 0) || took < test.least {
				t.Errorf("a round under the fault took %v: %v", took, err)
			}
			if _, err := cb.round(later); err != nil {
				t.Errorf("the fault reaches others: %v", err)
			}
			if !test.apart {
				if _, err := ca.round(later); err != nil {
					t.Errorf("the fault reaches another pair: %v", err)
				}
			}
			if err := heal(); err != nil {
				t.Fatal(err)
			}
			if took, err := connect(t, a, atB).round(later); err != nil {
				t.Errorf("a round after the fault took %v: %v", took, err)
			}
		})
	}
}
