package acceptor

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// pipeListener hands out one end of each pipe that it gets.
type pipeListener struct{ conns chan net.Conn }

func (l pipeListener) Accept() (net.Conn, error) {
	c, open := <-l.conns
	if !open {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (l pipeListener) Close() error { close(l.conns); return nil }
func (pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// TestTimeOfAStoppedProcess: neither the handshakes nor the streams that wait have to answer for
// the time in which this process stood still. They have the rest of theirs, and no more.
func TestTimeOfAStoppedProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 5 * time.Second
		l := pipeListener{make(chan net.Conn)}
		a := New(l, Config{
			Greet: func(c net.Conn) (net.Conn, error) {
				_, err := io.ReadFull(c, make([]byte, 1))
				return c, err
			},
			Timeout: timeout, Handshakes: 1, PerAddress: 1, Wait: true,
		})
		defer a.Close()
		a.paid = time.Now().Add(time.Hour) // the second displaces none
		for range 2 {
			near, _ := net.Pipe()
			l.conns <- near
		}
		synctest.Wait()
		left := func() (pending, waiting int) {
			a.mu.Lock()
			defer a.mu.Unlock()
			return len(a.pending), a.waiting.count
		}
		a.mu.Lock()
		a.looked = a.looked.Add(-time.Hour) // it stood still for so long
		a.mu.Unlock()
		time.Sleep(timeout / 2)
		if pending, waiting := left(); pending != 1 || waiting != 1 {
			t.Errorf("after a pause %d handshakes and %d waiting streams are left, want 1 and 1", pending, waiting)
		}
		time.Sleep(timeout/2 + timeout/10) // the second begins its handshake
		if pending, waiting := left(); pending != 1 || waiting != 0 {
			t.Errorf("when its time is over %d handshakes and %d waiting streams are left, want 1 and 0", pending, waiting)
		}
		time.Sleep(timeout + timeout/10)
		if pending, _ := left(); pending != 0 {
			t.Error("a silent handshake is left")
		}
	})
}
