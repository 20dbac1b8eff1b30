package gridtest_test

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// firewall refuses datagrams to a host with an error, as a rule for outgoing packets or a missing route does. The
// zero value refuses none.
type firewall struct {
	*gridtest.Host

	mu      sync.Mutex
	refused netip.Addr
}

func (f *firewall) refuse(to netip.Addr) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refused = to
}

func (f *firewall) ListenPacket(addr string) (net.PacketConn, error) {
	conn, err := f.Host.ListenPacket(addr)
	return filtered{conn, f}, err
}

type filtered struct {
	net.PacketConn
	by *firewall
}

func (s filtered) WriteTo(b []byte, to net.Addr) (int, error) {
	s.by.mu.Lock()
	defer s.by.mu.Unlock()
	if at, err := netip.ParseAddrPort(to.String()); err == nil && at.Addr() == s.by.refused {
		return 0, &net.OpError{Op: "write", Net: "udp", Source: s.LocalAddr(), Addr: to, Err: syscall.EPERM}
	}
	return s.PacketConn.WriteTo(b, to)
}

// TestFollowersApartWithoutTraffic: two followers that cannot send to each other are reported although nothing is
// created, also if their sockets return errors and no datagram is lost.
func TestFollowersApartWithoutTraffic(t *testing.T) {
	t.Parallel()
	for _, refuses := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			walls := map[string]*firewall{}
			var mu sync.Mutex
			g := gridtest.Start(t, gridtest.Config{Members: 3, Change: func(name string, c *grid.Config) {
				mu.Lock()
				defer mu.Unlock()
				walls[name] = &firewall{Host: c.Network.(*gridtest.Host)}
				c.Network = walls[name]
			}})
			time.Sleep(30 * time.Second)
			l := g.Leader()
			a := other(g, l)
			b := g.Running()[slices.IndexFunc(g.Running(), func(name string) bool { return name != l && name != a })]
			g.Network.Cut(a, b)
			if refuses {
				walls[a].refuse(g.Network.Host(b).IP())
				walls[b].refuse(g.Network.Host(a).IP())
			}
			took := eventually(t, 20*time.Second, "an alert names both", func() bool {
				return slices.ContainsFunc(grid.Alerts(statusOf(t, g, l)), func(x grid.Alert) bool {
					return x.Name == "members_apart" && strings.Contains(x.Text, a+" (") && strings.Contains(x.Text, b+" (")
				})
			})
			t.Logf("refused %v: after %v", refuses, took)
		})
	}
}
