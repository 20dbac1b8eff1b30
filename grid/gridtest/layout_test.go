package gridtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestLayoutsAreKept: a sequencer with a layout and a node range has them at every member and client, after
// its owner has crashed, and after all members have; others are a conflict.
func TestLayoutsAreKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true, Logger: logger()})
		ids := newChecker(t)
		cfg := sequencer.Config{Layout: sequencer.Twitter(), Epoch: epoch.UnixMilli(0), Nodes: 16,
			NodeRange: sequencer.NodeRange{Lo: 12, Hi: 15}}
		take := func(host string) {
			t.Helper()
			c := g.Client(host)
			_, err := c.CreateSequencer(within(t, time.Minute), "tweets", sequencer.Config{Epoch: cfg.Epoch, Nodes: 128})
			want(t, "create with the default layout", err, sequencer.ErrConflict)
			_, err = c.CreateSequencer(within(t, time.Minute), "tweets",
				sequencer.Config{Epoch: cfg.Epoch, Nodes: 16, Layout: sequencer.Layout{Bits: 63, LowBits: 21, Nodes: 1024}})
			want(t, "create with another layout", err, sequencer.ErrConflict)
			_, err = c.CreateSequencer(within(t, time.Minute), "tweets",
				sequencer.Config{Epoch: cfg.Epoch, Nodes: 16, Layout: cfg.Layout})
			want(t, "create for all nodes", err, sequencer.ErrConflict)
			s, err := c.OpenSequencer(within(t, time.Minute), "tweets")
			ok(t, "open", err)
			ok(t, "attach", s.AttachLogicalNode(within(t, time.Minute)))
			id := ids.caller(host).must(s, 1000)
			node, _ := s.LogicalNode()
			at := time.UnixMilli(int64(id) >> 22)
			if d := s.Definition(); d.Config().Layout != cfg.Layout || d.Config().Nodes != 16 || node < 12 ||
				int64(id)>>18&15 != int64(node) ||
				statusOf(t, g, g.Running()[0]).ClusterTime.Sub(at).Abs() > 10*time.Second {
				t.Errorf("%v gives %d of %v on node %d", d, id, at, node)
			}
			ok(t, "close", c.Close())
		}
		_, err := g.Member("m1").CreateSequencer(within(t, time.Minute), "tweets", cfg)
		ok(t, "create", err)
		take("c1")
		for _, q := range statusOf(t, g, "m2").Sequencers {
			if q.Layout != sequencer.Twitter() || q.Nodes != 16 || q.NodeRange != cfg.NodeRange {
				t.Errorf("the status has layout %v and %d nodes, %v", q.Layout, q.Nodes, q.NodeRange)
			}
		}
		g.Crash(g.OwnerOf("tweets"))
		take("c2")
		stopAll(t, g, false)
		time.Sleep(time.Second)
		g.StartMembers("m1", "m2", "m3")
		take("c3")
	})
}
