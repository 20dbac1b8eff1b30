package transport_test

import (
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
)

// someClaims are the claims of a server whose roster has one, and of which only streams of
// that claim are taken while it is bound.
type someClaims struct {
	own   [16]byte
	bound bool
}

// Own implements transport.Claims.
func (c *someClaims) Own() [16]byte { return c.own }

// Admit implements transport.Claims.
func (c *someClaims) Admit(claim [16]byte) error {
	if c.bound && claim != c.own {
		return errors.New("another claim")
	}
	return nil
}

// claimedLayer is a layer with claims.
func claimedLayer(t *testing.T, n *gridtest.Network, name string, c transport.Claims) *transport.RaftStream {
	t.Helper()
	ln, err := n.Host(name).Listen(name + ":7947")
	if err != nil {
		t.Fatal(err)
	}
	s := transport.NewRaftStream(ln, n.Host(name), gridID, c, transport.NoReleases{}, name, name+":7947", nil, nil)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestRaftStreamStatesItsClaim: a stream states the claim of its dialer, none in a grid
// without an anchor, and one that is not admitted is closed (A9).
func TestRaftStreamStatesItsClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		first, second := [16]byte{1}, [16]byte{15: 2}
		serving := &someClaims{own: first, bound: true}
		go echo(claimedLayer(t, n, "b", serving))
		for name, c := range map[string]struct {
			claim  [16]byte
			served bool
		}{"same": {first, true}, "other": {second, false}, "none": {[16]byte{}, false}} {
			conn, err := claimedLayer(t, n, name, &someClaims{own: c.claim}).Dial(dialTo("b"), time.Second)
			if err != nil {
				t.Fatal(err)
			}
			if err := answers(conn); (err == nil) != c.served {
				t.Errorf("%s claim: %v", name, err)
			}
			_ = conn.Close()
		}
	})
}

// TestRaftStreamsOfEarlierClaimsEnd: those that were opened under the present one stay.
func TestRaftStreamsOfEarlierClaimsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		go echo(claimedLayer(t, n, "b", &someClaims{}))
		claims := &someClaims{own: [16]byte{1}}
		a := claimedLayer(t, n, "a", claims)
		dial := func() net.Conn {
			conn, err := a.Dial(dialTo("b"), time.Second)
			if err == nil {
				err = answers(conn)
			}
			if err != nil {
				t.Fatal(err)
			}
			return conn
		}
		before := dial()
		claims.own = [16]byte{2}
		after := dial()
		a.DropOthers()
		if err := answers(before); err == nil {
			t.Error("a stream of the earlier claim continues")
		}
		if err := answers(after); err != nil {
			t.Errorf("the stream of the present claim: %v", err)
		}
		_, _ = before.Close(), after.Close()
	})
}
