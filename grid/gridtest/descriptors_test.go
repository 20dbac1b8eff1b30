package gridtest_test

import (
	"context"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// exhaustible is a network whose listeners may have no file descriptor left.
type exhaustible struct {
	*gridtest.Host
	exhausted *atomic.Bool
}

func (e exhaustible) Listen(addr string) (net.Listener, error) {
	ln, err := e.Host.Listen(addr)
	return exhaustibleListener{ln, e.exhausted}, err
}

type exhaustibleListener struct {
	net.Listener
	exhausted *atomic.Bool
}

func (l exhaustibleListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil && l.exhausted.Load() {
		_ = conn.Close()
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return conn, err
}

// TestDescriptorsExhausted: without file descriptors each listener of a member warns once a minute, and an
// alert holds for a minute after the last failure.
func TestDescriptorsExhausted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, exhausted := &sharedLog{}, &atomic.Bool{}
		g := gridtest.Start(t, gridtest.Config{Members: 1, Change: func(_ string, c *grid.Config) {
			c.Network = exhaustible{c.Network.(*gridtest.Host), exhausted}
			c.Logger = slog.New(slog.NewTextHandler(log, nil))
		}})
		time.Sleep(time.Minute)
		alert := func() (text string) {
			for _, a := range grid.Alerts(g.Member("m1").Status()) {
				if a.Name == "descriptors_exhausted" {
					text = a.Text
				}
			}
			return text
		}
		if text := alert(); text != "" {
			t.Errorf("an alert at first: %s", text)
		}
		exhausted.Store(true)
		for range 5 {
			for _, port := range []string{"7946", "7947", "7948"} {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				if conn, err := g.Network.Host("web").Dial(ctx, "m1:"+port); err == nil {
					_ = conn.Close()
				}
				cancel()
			}
			time.Sleep(2 * time.Second)
		}
		for _, listener := range []string{"gossip", "raft", "api"} {
			if n := strings.Count(log.String(), "listener="+listener+" "); n != 1 {
				t.Errorf("%d warnings of the %s listener:\n%s", n, listener, log.String())
			}
		}
		if text := alert(); !strings.Contains(text, "too many open files") {
			t.Errorf("the alert is %q", text)
		}
		exhausted.Store(false)
		time.Sleep(time.Minute + time.Second)
		if text := alert(); text != "" {
			t.Errorf("the alert does not end: %s", text)
		}
	})
}
