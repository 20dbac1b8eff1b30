package api

import (
	"net"
	"testing"
	"testing/synctest"
)

// TestHandshakesTakeTurns: one that waits for its other side, to read or to write, holds up no
// other one, and one that computes does.
func TestHandshakesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := make(semaphore, 1)
		for _, wait := range []func(c net.Conn){
			func(c net.Conn) { _, _ = c.Read(make([]byte, 1)) },
			func(c net.Conn) { _, _ = c.Write(make([]byte, 1)) },
		} {
			near, far := net.Pipe()
			silent, other := &turnConn{Conn: near, turns: turns}, &turnConn{turns: turns}
			ended := make(chan bool)
			go func() {
				silent.begin()
				wait(silent)
				silent.end()
				close(ended)
			}()
			synctest.Wait()
			other.begin() // would wait for the silent one, if that kept its turn
			_ = far.Close()
			synctest.Wait()
			select {
			case <-ended:
				t.Error("two had the turn")
			default:
			}
			other.end()
			<-ended
			_ = near.Close()
		}
		if len(turns) != 0 {
			t.Errorf("%d turns are kept", len(turns))
		}
	})
}
