package api

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

// oneListener accepts what is put into it.
type oneListener struct {
	conns chan net.Conn
	done  chan struct{}
}

func (l *oneListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l *oneListener) Close() error   { return nil }
func (l *oneListener) Addr() net.Addr { return &net.TCPAddr{} }

// TestIdleConnectionOfALoadBalancer: a connection of HTTP/1.1 lives for as long as is stated
// after each request, longer than load balancers keep theirs. A request that comes slowly does
// not get that time.
func TestIdleConnectionOfALoadBalancer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &Server{cfg: Config{IdleFor: DefaultIdle}}
		server := &http.Server{
			Handler:           http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }),
			ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, ConnState: a.noteState,
		}
		l := &oneListener{make(chan net.Conn), make(chan struct{})}
		served := make(chan error)
		go func() { served <- server.Serve(l) }()
		defer func() {
			close(l.done)
			<-served
			_ = server.Close()
		}()
		dial := func() (net.Conn, *bufio.Reader) {
			near, far := net.Pipe()
			l.conns <- &openConn{Conn: far, closed: make(chan struct{}), share: &peerShare{}, idleFor: a.cfg.IdleFor}
			return near, bufio.NewReader(near)
		}
		ask := func(c net.Conn, in *bufio.Reader) error {
			if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
				return err
			}
			res, err := http.ReadResponse(in, nil)
			if err == nil {
				_, err = io.Copy(io.Discard, res.Body)
			}
			return err
		}
		c, in := dial()
		for _, pause := range []time.Duration{0, 25 * time.Second, 60 * time.Second, 75 * time.Second, 89 * time.Second} {
			time.Sleep(pause)
			if err := ask(c, in); err != nil {
				t.Errorf("after %v: %v", pause, err)
			}
		}
		synctest.Wait()
		began := time.Now()
		if _, err := in.ReadByte(); err == nil || time.Since(began) != DefaultIdle {
			t.Errorf("it ended after %v: %v", time.Since(began), err)
		}
		_ = c.Close()

		c, in = dial()
		if err := ask(c, in); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		began = time.Now()
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, in); err != nil || time.Since(began) != headerTimeout {
			t.Errorf("a slow request ended after %v: %v", time.Since(began), err)
		}
		_ = c.Close()
	})
}

// TestLongestIdleMakesRoom: without a place for a new connection the longest idle one of the
// peer, or of the kind, ends. One that is idle for up to idleTimeout stays.
func TestLongestIdleMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &Server{}
		open := func(k placeKey) *openConn {
			t.Helper()
			share, leave, err := a.places.enter(k)
			if err != nil {
				t.Fatal(err)
			}
			near, _ := net.Pipe()
			c := &openConn{Conn: near, closed: make(chan struct{}), share: share, kind: k.kind}
			c.onClose(leave)
			c.onClose(func() { a.places.busy(c) })
			return c
		}
		greedy, other := placeKey{kind: fromStranger, host: "x"}, placeKey{kind: fromStranger, host: "y"}
		others := open(other)
		a.noteState(others, http.StateIdle)
		var conns []*openConn
		for range shares[fromStranger].peer {
			conns = append(conns, open(greedy))
		}
		time.Sleep(time.Second)
		for _, c := range conns[3:6] {
			a.noteState(c, http.StateIdle)
			time.Sleep(time.Second)
		}
		refused := func(k placeKey, when string) {
			t.Helper()
			if _, _, err := a.places.enter(k); !errors.Is(err, sequencer.ErrUnavailable) {
				t.Errorf("%s: %v", when, err)
			}
		}
		refused(greedy, "none is idle for long")
		a.noteState(conns[3], http.StateActive)
		time.Sleep(idleTimeout - time.Second)
		conns = append(conns, open(greedy)) // in place of conns[4]
		if ended := fmt.Sprint(isClosed(conns[3]), isClosed(conns[4]), isClosed(conns[5]),
			isClosed(others)); ended != "false true false false" {
			t.Errorf("ended: %s", ended)
		}
		refused(greedy, "the next one is not idle for long enough")
		// All places of the kind.
		for i := 0; a.places.all[fromStranger] < shares[fromStranger].all; i++ {
			conns = append(conns, open(placeKey{kind: fromStranger, host: fmt.Sprint(i / 100)}))
		}
		open(placeKey{kind: fromStranger, host: "z"})
		if !isClosed(others) {
			t.Error("the longest idle connection of the kind keeps its place")
		}
		if n := a.places.all[fromStranger]; n != shares[fromStranger].all {
			t.Errorf("%d places are taken", n)
		}
	})
}

func isClosed(c *openConn) bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}
