package acceptor_test

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/acceptor"
)

// from is an address of a test.
type from string

func (from) Network() string  { return "tcp" }
func (f from) String() string { return string(f) }

// conn is one end of a pipe with an address.
type conn struct {
	net.Conn
	remote from
}

func (c conn) RemoteAddr() net.Addr { return c.remote }

// listener hands out connections of a test.
type listener struct {
	conns chan net.Conn
	done  chan struct{}
}

func (l listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l listener) Close() error { close(l.done); return nil }
func (listener) Addr() net.Addr { return from("x:1") }

// open makes a connection of an address, and returns the caller's end.
func (l listener) open(address string) net.Conn {
	far, near := net.Pipe()
	l.conns <- conn{near, from(address)}
	return far
}

// isClosed waits for the other side to close a connection.
func isClosed(c net.Conn) bool {
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	_, err := c.Read(make([]byte, 1))
	return errors.Is(err, io.EOF)
}

// TestOldestOfAnAddressIsDropped: an address that has too many unfinished handshakes loses its
// oldest, and another address loses none; of all too many, the oldest goes.
func TestOldestOfAnAddressIsDropped(t *testing.T) {
	l := listener{make(chan net.Conn), make(chan struct{})}
	a := acceptor.New(l, acceptor.Config{
		Greet: func(c net.Conn) (net.Conn, error) {
			_, err := c.Read(make([]byte, 1))
			return c, err
		},
		Timeout: time.Minute, Handshakes: 4, PerAddress: 3, Wait: true,
	})
	defer a.Close()
	honest := l.open("10.0.0.2:1")
	evil := []net.Conn{l.open("10.0.0.1:1"), l.open("10.0.0.1:2"), l.open("10.0.0.1:3"), l.open("10.0.0.1:4")}
	if !isClosed(evil[0]) {
		t.Error("the oldest of the address that has too many is open")
	}
	third := l.open("10.0.0.3:1") // of all there are too many now: the honest one is the oldest
	if !isClosed(honest) {
		t.Error("the oldest of all is open")
	}
	if n := a.Dropped(); n != 2 {
		t.Errorf("%d dropped", n)
	}
	if _, err := third.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	select {
	case c := <-a.Streams:
		if acceptor.Host(c.RemoteAddr()) != "10.0.0.3" {
			t.Errorf("handed out: %v", c.RemoteAddr())
		}
	case <-time.After(10 * time.Second):
		t.Error("a finished handshake was not handed out")
	}
}
