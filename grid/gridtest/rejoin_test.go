package gridtest_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
)

// TestJoinersAreNotDialedByAll: where many members join at once, each dials those that it is
// configured with, and gossip brings all others.
func TestJoinersAreNotDialedByAll(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const members, seeds = 32, 3
		var dials atomic.Int64
		g := gridtest.New(t, gridtest.Config{Members: seeds, Change: func(name string, c *grid.Config) {
			joinersExpectNothing(seeds)(name, c)
			c.Network = &gossipDials{c.Network.(*gridtest.Host), &dials}
		}})
		var names []string
		for i := range members {
			names = append(names, fmt.Sprint("m", i+1))
		}
		g.StartMembers(names[:seeds]...)
		g.StartMembers(names[seeds:]...)
		eventually(t, time.Minute, "all are ready", func() bool {
			return !slices.ContainsFunc(names, func(name string) bool { return !g.Member(name).Ready() })
		})
		if n := dials.Load(); n < members || n > members*seeds {
			t.Errorf("%d dials by gossip for %d members with %d addresses each", n, members, seeds)
		}
	})
}

// gossipDials is a host that counts the dials of gossip.
type gossipDials struct {
	*gridtest.Host
	dials *atomic.Int64
}

// Dial implements grid.Network.
func (n *gossipDials) Dial(ctx context.Context, addr string) (net.Conn, error) {
	if strings.HasSuffix(addr, ":7946") {
		n.dials.Add(1)
	}
	return n.Host.Dial(ctx, addr)
}
