package acceptor_test

import (
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
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

// greetByte is a handshake of one byte.
func greetByte(c net.Conn) (net.Conn, error) {
	_, err := c.Read(make([]byte, 1))
	return c, err
}

// TestOldestOfAnAddressIsDropped: an address that has too many slow handshakes loses its oldest,
// and another address loses none; of all too many, the oldest goes. One that is not slow is left to
// end, and the newest waits.
func TestOldestOfAnAddressIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listener{make(chan net.Conn), make(chan struct{})}
		a := acceptor.New(l, acceptor.Config{
			Greet:   greetByte,
			Timeout: time.Minute, Handshakes: 5, PerAddress: 3, Wait: true,
		})
		defer a.Close()
		honest := watch(l.open("10.0.0.2:1"))
		evil := []*watched{watch(l.open("10.0.0.1:1")), watch(l.open("10.0.0.1:2")), watch(l.open("10.0.0.1:3")),
			watch(l.open("10.0.0.1:4"))}
		synctest.Wait()
		if n := closedOf(evil); n != 0 {
			t.Errorf("%d that are not slow were dropped", n)
		}
		time.Sleep(10 * time.Second)
		evil = append(evil, watch(l.open("10.0.0.1:5")))
		synctest.Wait()
		if !evil[0].closed.Load() {
			t.Error("the oldest of the address that has too many is open")
		}
		watch(l.open("10.0.0.4:1"))
		third := l.open("10.0.0.3:1") // of all there are too many now: the honest one is the oldest
		synctest.Wait()
		if !honest.closed.Load() {
			t.Error("the oldest of all is open")
		}
		if n, of := a.Dropped(), closedOf(evil); n != 2 || of != 1 {
			t.Errorf("%d dropped, of one address %d", n, of)
		}
		if _, err := third.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if c := <-a.Streams; acceptor.Host(c.RemoteAddr()) != "10.0.0.3" {
			t.Errorf("handed out: %v", c.RemoteAddr())
		}
	})
}

// TestFloodWaits: of an address that opens silent streams without end, some displace others and
// the rest wait, without a handshake, until there is a place or the time of one has passed. An
// address with few gets a place immediately meanwhile.
func TestFloodWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places, flood, timeout = 32, 1000, time.Minute
		l := listener{make(chan net.Conn), make(chan struct{})}
		var begun atomic.Int64
		a := acceptor.New(l, acceptor.Config{
			Greet: func(c net.Conn) (net.Conn, error) {
				begun.Add(1)
				_, err := c.Read(make([]byte, 1))
				return c, err
			},
			Timeout: timeout, Handshakes: places, PerAddress: places, Wait: true,
		})
		defer a.Close()
		var evil []*watched
		for range flood {
			evil = append(evil, watch(l.open("10.0.0.1:1")))
			synctest.Wait()
		}
		closed := closedOf(evil)
		if n := int(begun.Load()); n > 200 || closed != n-places {
			t.Errorf("of %d streams %d began a handshake and %d were closed", flood, n, closed)
		}
		before, came := begun.Load(), time.Now()
		honest := l.open("10.0.0.2:1")
		if _, err := honest.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if c := <-a.Streams; acceptor.Host(c.RemoteAddr()) != "10.0.0.2" {
			t.Errorf("handed out: %v", c.RemoteAddr())
		}
		if took := time.Since(came); took > 0 {
			t.Errorf("an address with few handshakes waited %v", took)
		}
		synctest.Wait()
		if n := begun.Load(); n != before+2 {
			t.Errorf("%d began, want this one and another when its place became free", n-before)
		}
		time.Sleep(timeout/2 + timeout/4 - time.Second)
		if n := closedOf(evil); n > closed+2 {
			t.Errorf("%d were closed before their time", n-closed)
		}
		time.Sleep(2 * timeout)
		if n := closedOf(evil); n > closed+4*places {
			t.Errorf("%d that wait were closed, so that they are opened again", n-closed)
		}
		for range 4 * 50 {
			closed = closedOf(evil)
			time.Sleep(timeout / 50)
			synctest.Wait()
			if n := closedOf(evil) - closed; n > 2*places {
				t.Errorf("%d were closed together", n)
			}
		}
		if n := closedOf(evil); n != flood {
			t.Errorf("%d of %d are closed at the end", n, flood)
		}
	})
}

// TestSlowOnesAreDisplacedInTurn: a flood displaces a few of many slow handshakes at once, and the
// other streams of it wait.
func TestSlowOnesAreDisplacedInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places, flood, most = 512, 400, 100
		l := listener{make(chan net.Conn), make(chan struct{})}
		a := acceptor.New(l, acceptor.Config{
			Greet:   greetByte,
			Timeout: time.Minute, Handshakes: places, PerAddress: places, Wait: true,
		})
		defer a.Close()
		var slow []*watched
		for range places {
			slow = append(slow, watch(l.open("10.0.0.1:1")))
		}
		time.Sleep(time.Minute / 2)
		for range flood {
			watch(l.open("10.0.0.1:1"))
		}
		synctest.Wait()
		if n := closedOf(slow); n == 0 || n > most {
			t.Errorf("%d streams displaced %d slow ones, want some and at most %d", flood, n, most)
		}
	})
}

// TestAddressWithFewWaitsForASlowOne: a stream that comes when no place is free and no handshake is slow
// gets a place when one is, if its address has few handshakes, and does not wait until one ends.
func TestAddressWithFewWaitsForASlowOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places, timeout = 64, time.Minute
		l := listener{make(chan net.Conn), make(chan struct{})}
		a := acceptor.New(l, acceptor.Config{Greet: greetByte, Timeout: timeout, Handshakes: places, PerAddress: places / 2,
			Wait: true})
		defer a.Close()
		var evil []*watched
		for i := range places {
			evil = append(evil, watch(l.open(fmt.Sprintf("10.0.1.%d:1", i))))
		}
		began := time.Now()
		honest := l.open("10.0.0.2:1")
		if _, err := honest.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if c := <-a.Streams; acceptor.Host(c.RemoteAddr()) != "10.0.0.2" {
			t.Errorf("handed out: %v", c.RemoteAddr())
		}
		if took := time.Since(began); took < timeout/10 || took > timeout/5 {
			t.Errorf("it was handed out after %v of %v", took, timeout)
		}
		synctest.Wait()
		if n := closedOf(evil); n != 1 {
			t.Errorf("%d others were dropped for it", n)
		}
		for range 4 * places { // one address has too many
			watch(l.open("10.0.0.3:1"))
		}
		before := a.Dropped()
		time.Sleep(timeout / 2)
		if n := a.Dropped() - before; n > 0 {
			t.Errorf("%d were dropped for streams of an address that has many", n)
		}
	})
}

// watched is the far end of a stream, and whether the acceptor has closed it.
type watched struct {
	net.Conn
	closed atomic.Bool
}

func watch(c net.Conn) *watched {
	w := &watched{Conn: c}
	go func() {
		_, _ = c.Read(make([]byte, 1))
		w.closed.Store(true)
	}()
	return w
}

func closedOf(all []*watched) (n int) {
	for _, w := range all {
		if w.closed.Load() {
			n++
		}
	}
	return n
}
