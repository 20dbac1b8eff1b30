package transport_test

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/transport"
)

// pipes is a network of one stream and one socket in memory.
type pipes struct {
	near, far net.Conn
	sent      chan []byte
}

func (p pipes) Listen(string) (net.Listener, error)            { return nil, net.ErrClosed }
func (p pipes) Dial(context.Context, string) (net.Conn, error) { return p.near, nil }
func (p pipes) ListenPacket(string) (net.PacketConn, error)    { return packets{sent: p.sent}, nil }
func (p pipes) LookupHost(context.Context, string) ([]string, error) {
	return []string{"10.9.8.7"}, nil
}

type packets struct {
	net.PacketConn
	sent chan []byte
}

func (p packets) WriteTo(b []byte, _ net.Addr) (int, error) { p.sent <- b; return len(b), nil }

func (p packets) ReadFrom(b []byte) (int, net.Addr, error) {
	return copy(b, <-p.sent), nil, nil
}

// passes are ways for a byte through a network of pipes: its stream, its socket and a dial.
func passes(t *testing.T, nw transport.Network, p pipes) (net.Conn, map[string]func() error) {
	t.Helper()
	conn, err := nw.Dial(t.Context(), "a:1")
	if err != nil {
		t.Fatal(err)
	}
	socket, err := nw.ListenPacket("a:1")
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	return conn, map[string]func() error{
		"write": func() error {
			go func() { _, _ = p.far.Read(make([]byte, 1)) }()
			_, err := conn.Write(b)
			return err
		},
		"read": func() error {
			go func() { _, _ = p.far.Write([]byte{1}) }()
			_, err := io.ReadFull(conn, b)
			return err
		},
		"send": func() error {
			_, err := socket.WriteTo(b, nil)
			<-p.sent
			return err
		},
		"receive": func() error {
			p.sent <- b
			_, _, err := socket.ReadFrom(b)
			return err
		},
		"dial": func() error {
			_, err := nw.Dial(t.Context(), "a:1")
			return err
		},
	}
}

// TestGate: while the gate is shut nothing passes in either direction, and nothing is lost;
// closing a stream ends its wait.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		p := pipes{near: near, far: far, sent: make(chan []byte, 1)}
		var gate transport.Gate
		nw := transport.Behind(p, &gate)
		if addrs, err := transport.Lookup(t.Context(), nw, "a:1", 0); err != nil || len(addrs) != 1 ||
			addrs[0] != "10.9.8.7:1" {
			t.Errorf("names are resolved to %v, %v", addrs, err)
		}
		conn, ways := passes(t, nw, p)
		for what, pass := range ways {
			gate.Shut(3 * time.Second)
			gate.Shut(time.Second) // does not open it earlier
			for _, want := range []time.Duration{3 * time.Second, 0} {
				began := time.Now()
				if err := pass(); err != nil || time.Since(began) != want {
					t.Errorf("%s took %v, want %v: %v", what, time.Since(began), want, err)
				}
			}
		}
		gate.Shut(time.Hour)
		time.AfterFunc(time.Second, func() { _ = conn.Close() })
		began := time.Now()
		if _, err := conn.Write([]byte{1}); err == nil || time.Since(began) != time.Second {
			t.Errorf("a write to a stream that is closed took %v: %v", time.Since(began), err)
		}
		if n := transport.Behind(p, nil); n != p {
			t.Errorf("without a gate the network is a %T", n)
		}
	})
}
