package gridtest_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/sequencer"
)

// stripeChecker records the IDs of Striped handles of one name: none comes twice, and
// those of one caller ascend for each logical node.
type stripeChecker struct {
	t      *testing.T
	mu     sync.Mutex
	issued map[sequencer.ID]bool
	last   map[string]map[sequencer.NodeID]sequencer.ID // by caller
}

func newStripeChecker(t *testing.T) *stripeChecker {
	return &stripeChecker{t: t, issued: map[sequencer.ID]bool{}, last: map[string]map[sequencer.NodeID]sequencer.ID{}}
}

// must takes n IDs in calls of Next and Fill.
func (c *stripeChecker) must(caller string, s *sequencer.Striped, n int) {
	c.t.Helper()
	ids := make([]sequencer.ID, n)
	_, err := s.Fill(within(c.t, time.Minute), ids[1:])
	ok(c.t, caller, err)
	id, err := s.Next(within(c.t, time.Minute))
	ok(c.t, caller, err)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last[caller] == nil {
		c.last[caller] = map[sequencer.NodeID]sequencer.ID{}
	}
	for _, id := range append(ids[1:], id) {
		node := s.Definition().Decompose(id).Node
		if before := c.last[caller][node]; c.issued[id] || id <= before {
			c.t.Errorf("%s: %d after %d of logical node %d, or twice", caller, id, before, node)
		}
		c.issued[id], c.last[caller][node] = true, id
	}
}

// heldOf is how many logical nodes of a name its owner knows to be held.
func heldOf(t *testing.T, g *gridtest.Grid, name string) int {
	t.Helper()
	for _, q := range g.Member(g.OwnerOf(name)).Status().Sequencers {
		if q.Name == name {
			return q.Attached
		}
	}
	t.Fatalf("the owner does not know %q", name)
	return 0
}

func TestStripes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		cfg := sequencer.Config{Nodes: 128}
		web, app, late := g.Client("web"), g.Client("app"), g.Client("late")
		ofWeb, err := web.CreateStriped(t.Context(), "orders", cfg, 64)
		ok(t, "64 stripes of a client", err)
		ofApp, err := app.CreateStriped(t.Context(), "orders", cfg, 30)
		ok(t, "30 stripes of another", err)
		owner := g.OwnerOf("orders")
		ofMember, err := g.Member(owner).CreateStriped(t.Context(), "orders", cfg, 30)
		ok(t, "30 stripes of a member", err)
		nodes := slices.Concat(ofWeb.LogicalNodes(), ofApp.LogicalNodes(), ofMember.LogicalNodes())
		slices.Sort(nodes)
		if n := len(slices.Compact(nodes)); n != 124 || heldOf(t, g, "orders") != 124 {
			t.Fatalf("%d logical nodes, the owner knows %d", n, heldOf(t, g, "orders"))
		}
		ids := newStripeChecker(t)
		for range 5 {
			ids.must("web", ofWeb, 1000)
			ids.must("app", ofApp, 1000)
			ids.must("member", ofMember, 1000)
			time.Sleep(time.Second)
		}

		_, err = late.CreateStriped(t.Context(), "orders", cfg, 5)
		want(t, "5 stripes where 4 are left", err, sequencer.ErrNoFreeNode)
		if n := heldOf(t, g, "orders"); n != 124 {
			t.Errorf("%d logical nodes are held after that", n)
		}
		_, err = late.CreateStriped(t.Context(), "orders", cfg, attachment.MaxStripes+1)
		want(t, "too many stripes", err, sequencer.ErrInvalidConfig)

		ok(t, "leave", ofWeb.Leave(t.Context()))
		if n := heldOf(t, g, "orders"); n != 60 {
			t.Errorf("%d logical nodes are held after 64 of 124 were given back", n)
		}
		ok(t, "leave", app.Leave(t.Context()))
		if n := heldOf(t, g, "orders"); n != 30 {
			t.Errorf("%d logical nodes are held after a client left with 30 of 60", n)
		}
		_, err = ofApp.Next(t.Context())
		want(t, "Next of a client that left", err, sequencer.ErrClosed)
		ofLate, err := late.CreateStriped(t.Context(), "orders", cfg, 64)
		ok(t, "64 stripes again", err)
		ids.must("late", ofLate, 1000)
		ok(t, "close", late.Close())
		time.Sleep(20 * time.Second) // its session ends
		if n := heldOf(t, g, "orders"); n != 30 {
			t.Errorf("%d logical nodes are held long after a client with 64 of 94 was closed", n)
		}
		ids.must("member", ofMember, 1000)
		g.Leave(owner)
		if n := heldOf(t, g, "orders"); n != 0 {
			t.Errorf("%d logical nodes are held after the member left that had the last", n)
		}
	})
}

// TestStripesOverACrash: the owner of all stripes dies. With a backup no call waits;
// without one, every call waits once, and continues with the same logical nodes.
func TestStripesOverACrash(t *testing.T) {
	t.Parallel()
	for name, backups := range map[string]int{"takeover": 1, "loss": grid.NoBackups} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true,
					Change: func(_ string, c *grid.Config) { c.Backups = backups }})
				orders, err := g.Client("web").CreateStriped(t.Context(), "orders", sequencer.Config{}, 64)
				ok(t, "create", err)
				nodes := orders.LogicalNodes()
				ids := newStripeChecker(t)
				run := func() {
					for range 15 {
						ids.must("web", orders, 500)
						time.Sleep(time.Second)
					}
				}
				run()
				g.Crash(g.OwnerOf("orders"))
				run()
				st := orders.Stats()
				if got := orders.LogicalNodes(); !slices.Equal(got, nodes) || st.IDs != uint64(len(ids.issued)) {
					t.Errorf("logical nodes %v, were %v; %d IDs and %+v", got, nodes, len(ids.issued), st)
				}
				if waited := st.GrantWaits > 0; waited != (backups == grid.NoBackups) {
					t.Errorf("%+v", st)
				}
				eventually(t, 30*time.Second, "the owner knows all 64", func() bool { return heldOf(t, g, "orders") == 64 })
			})
		})
	}
}

// TestStripesAreDestroyed: every stripe hears of it within a second, on one event
// stream, and the logical nodes are given back.
func TestStripesAreDestroyed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		orders, err := g.Client("web").CreateStriped(t.Context(), "orders", sequencer.Config{}, 64)
		ok(t, "create", err)
		newStripeChecker(t).must("web", orders, 1000)
		synctest.Wait()
		began := time.Now()
		ok(t, "destroy", g.Client("other").DestroySequencer(t.Context(), "orders"))
		if took := time.Since(began); took > 500*time.Millisecond {
			t.Errorf("destroyed after %v: not all stripes have said what they used", took)
		}
		eventually(t, time.Second, "all stripes are Destroyed", func() bool { return orders.State() == sequencer.Destroyed })
		_, err = orders.Next(t.Context())
		want(t, "next", err, sequencer.ErrDestroyed)
		ok(t, "leave", orders.Leave(t.Context()))
	})
}
