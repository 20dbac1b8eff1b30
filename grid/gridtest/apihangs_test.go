package gridtest_test

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestMemberWhoseAPIHangsIsReplaced: the owner of a name answers no call to its API, while Raft and gossip
// continue as ever. Another owner takes its place before holders wait, also if it leads; it comes back when
// its API answers again.
func TestMemberWhoseAPIHangsIsReplaced(t *testing.T) {
	long.NotShort(t, "it takes seconds")
	t.Parallel()
	for what, leads := range map[string]bool{"an owner": false, "the leader": true} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				hung := map[string]*atomic.Bool{}
				g := gridtest.Start(t, gridtest.Config{Members: 5, Change: func(name string, c *grid.Config) {
					c.Voters = 5 // few calls at rest are between two heartbeats of a majority
					hung[name] = &atomic.Bool{}
					c.Network = &deafNetwork{c.Network.(*gridtest.Host), hung[name]}
				}})
				name := nameOfOwner(t, g, leads)
				s, err := g.Client("c").CreateSequencer(within(t, 10*time.Second), name, sequencer.Config{})
				ok(t, "create", err)
				time.Sleep(time.Minute)
				deaf := g.OwnerOf(name)
				hung[deaf].Store(true)
				defer hung[deaf].Store(false) // the end of a member waits for its connections
				for began := time.Now(); time.Since(began) < 40*time.Second; time.Sleep(20 * time.Millisecond) {
					if _, err := s.Next(within(t, 100*time.Millisecond)); err != nil {
						t.Fatalf("%v after the API of %s hung: %v", time.Since(began), deaf, err)
					}
				}
				rest := other(g, deaf)
				status := g.Member(rest).Status()
				if len(status.Members) != 4 || strings.Contains(fmt.Sprint(status.Leader), deaf) {
					t.Errorf("%d members, leader %s", len(status.Members), status.Leader)
				}
				hung[deaf].Store(false)
				time.Sleep(20 * time.Second)
				if n := len(g.Member(rest).Status().Members); n != 5 {
					t.Errorf("%d members when the API answers again", n)
				}
			})
		})
	}
}

// deafNetwork is a host whose API accepts connections, and reads nothing while hung is set.
type deafNetwork struct {
	*gridtest.Host
	hung *atomic.Bool
}

// Listen implements grid.Network.
func (n *deafNetwork) Listen(addr string) (net.Listener, error) {
	ln, err := n.Host.Listen(addr)
	if strings.HasSuffix(addr, ":7948") {
		ln = &deafListener{ln, n.hung}
	}
	return ln, err
}

type deafListener struct {
	net.Listener
	hung *atomic.Bool
}

// Accept implements net.Listener.
func (l *deafListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &deafConn{c, l.hung}, err
}

type deafConn struct {
	net.Conn
	hung *atomic.Bool
}

// Read implements net.Conn.
func (c *deafConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	for err == nil && c.hung.Load() {
		time.Sleep(10 * time.Millisecond)
	}
	return n, err
}
