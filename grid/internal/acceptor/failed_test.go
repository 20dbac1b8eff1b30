package acceptor

import (
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// exhausted is a listener of a process that has no file left.
type exhausted struct {
	net.Listener
	closed chan struct{}
}

var errFiles = errors.New("accept: too many open files")

func (e exhausted) Accept() (net.Conn, error) {
	select {
	case <-e.closed:
		return nil, net.ErrClosed
	default:
		return nil, errFiles
	}
}

func (e exhausted) Close() error { close(e.closed); return nil }

// TestFailuresAreReported: an acceptor says why it accepts no streams.
func TestFailuresAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := make(chan error, 1000)
		a := New(exhausted{closed: make(chan struct{})},
			Config{Handshakes: 1, PerAddress: 1, Failed: func(err error) { failed <- err }})
		time.Sleep(time.Second)
		a.Close()
		if len(failed) == 0 || !errors.Is(<-failed, errFiles) {
			t.Error("nothing was reported")
		}
	})
}
