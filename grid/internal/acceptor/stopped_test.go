package acceptor_test

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/acceptor"
)

// TestTimeOfAStoppedProcess: neither the handshakes nor the streams that wait have to answer for
// the time in which this process stood still. They have the rest of theirs, and no more.
func TestTimeOfAStoppedProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 5 * time.Second
		l := listener{make(chan net.Conn), make(chan struct{})}
		a := acceptor.New(l, acceptor.Config{Greet: greetByte, Timeout: timeout, Handshakes: 1, PerAddress: 1, Wait: true})
		defer a.Close()
		for range 2 {
			watch(l.open("10.0.0.1:1"))
		}
		synctest.Wait()
		a.Stop(time.Hour)
		time.Sleep(timeout / 2)
		if pending, waiting := a.Left(); pending != 1 || waiting != 1 {
			t.Errorf("after a pause %d handshakes and %d waiting streams are left, want 1 and 1", pending, waiting)
		}
		time.Sleep(timeout/2 + timeout/10) // the second begins its handshake
		if pending, waiting := a.Left(); pending != 1 || waiting != 0 {
			t.Errorf("when its time is over %d handshakes and %d waiting streams are left, want 1 and 0", pending, waiting)
		}
		time.Sleep(timeout + timeout/10)
		if pending, _ := a.Left(); pending != 0 {
			t.Error("a silent handshake is left")
		}
	})
}
