package gridtest_test

import (
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
)

// TestPushesPutProbesOff: a member that has answered a push is not probed as well. With a
// window of a second there are ten pushes a second, and a member without a vote answers no
// other call of the leader.
func TestPushesPutProbesOff(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answers := &traffic{of: map[string]*hostTraffic{}} // by member and the host of the caller
		g := gridtest.New(t, gridtest.Config{Members: 3, Change: func(name string, c *grid.Config) {
			joinersExpectNothing(3)(name, c)
			c.Window = time.Second
			c.Network = &countedAPI{c.Network.(*gridtest.Host), name, c.APIAddr, answers}
		}})
		var names []string
		for i := range 16 {
			names = append(names, fmt.Sprint("m", i+1))
		}
		g.StartMembers(names[:3]...)
		g.StartMembers(names[3:]...)
		leader := func() grid.Status { return g.Member(g.Leader()).Status() }
		eventually(t, time.Minute, "the grid is settled", func() bool {
			return len(leader().Members) == len(names) &&
				leader().Settled
		})
		g.Network.SetDelay(5 * time.Millisecond)
		time.Sleep(5 * time.Second) // every member has answered a push

		votes, caller := map[string]bool{}, ""
		for _, m := range leader().Members {
			votes[m.Incarnation] = m.Voter
			if m.Leader {
				caller = hostOf(m.API)
			}
		}
		count := func() (members, n int64) {
			for _, name := range names {
				if !votes[g.Member(name).Status().Answering] {
					members++
					n += answers.writes(name + " to " + caller)
				}
			}
			return members, n
		}
		_, before := count()
		raised := leader().Ceiling
		time.Sleep(10 * time.Second)
		members, after := count()
		pushes := members * int64(leader().Ceiling.Sub(raised)/(100*time.Millisecond))
		if calls := after - before; pushes == 0 || calls < pushes*9/10 || calls > pushes*11/10 {
			t.Errorf("%d answers of %d members without a vote to %d pushes", calls, members, pushes)
		}
	})
}

// hostOf returns the host of an address.
func hostOf(addr string) string {
	host, _, _ := net.SplitHostPort(addr)
	return host
}

// countedAPI is a host whose writes to callers of its API are counted.
type countedAPI struct {
	*gridtest.Host
	name, api string
	sent      *traffic
}

// Listen implements grid.Network.
func (n *countedAPI) Listen(addr string) (net.Listener, error) {
	ln, err := n.Host.Listen(addr)
	if err != nil || addr != n.api {
		return ln, err
	}
	return &countedCallers{ln, n}, nil
}

type countedCallers struct {
	net.Listener
	of *countedAPI
}

// Accept implements net.Listener.
func (l *countedCallers) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &countedConn{c, l.of.sent.host(l.of.name + " to " + hostOf(c.RemoteAddr().String()))}, nil
}
