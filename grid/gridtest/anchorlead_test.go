package gridtest_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
)

// TestAnchorNextLeader: a voter that becomes the leader continues under the claim, and no
// holder waits, also when the former leader returns.
func TestAnchorNextLeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAnchorStore()
		g := gridtest.New(t, gridtest.Config{Members: 3, Durable: true,
			Change: func(_ string, c *grid.Config) { c.Anchor = s }})
		g.StartMembers(names(3)...)
		ids := newChecker(t)
		load := ids.load(50 * time.Millisecond)
		load.run("web", create(t, g.Client("web"), "orders", 0))
		claim := anchorOf(g).Claim
		time.Sleep(10 * time.Second)
		ids.wait("web") // the first grants are short
		for range 3 {
			leads := g.Leader()
			g.Crash(leads)
			eventually(t, time.Minute, "another leader holds the anchor", func() bool {
				return g.Leader() != "" &&
					anchorOf(g).State == "held"
			})
			g.StartMembers(leads)
			eventually(t, time.Minute, "all are ready", func() bool {
				return g.Member("m1").Ready() && g.Member("m2").Ready() && g.Member("m3").Ready()
			})
			if got := anchorOf(g).Claim; got != claim {
				t.Fatalf("claim %s became %s", claim, got)
			}
		}
		time.Sleep(20 * time.Second)
		if longest := ids.wait("web"); longest > 6*time.Second {
			t.Errorf("a holder waited for %v", longest)
		}
		load.stop()
	})
}

// TestAnchorSwitchedOn: members of a grid without an anchor are restarted with one, one
// after the other. The first of them that leads takes it.
func TestAnchorSwitchedOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAnchorStore()
		var on atomic.Bool
		g := gridtest.New(t, gridtest.Config{Members: 3, Durable: true, Change: func(_ string, c *grid.Config) {
			if on.Load() {
				c.Anchor = s
			}
		}})
		g.StartMembers(names(3)...)
		ids := newChecker(t)
		load := ids.load(50 * time.Millisecond)
		load.run("web", create(t, g.Client("web"), "orders", 0))
		time.Sleep(10 * time.Second)
		on.Store(true)
		for _, name := range names(3) {
			g.Leave(name)
			g.StartMembers(name)
			eventually(t, 2*time.Minute, name+" is back", func() bool { return g.Member(name).Ready() })
		}
		eventually(t, 2*time.Minute, "the anchor is held", func() bool { return anchorOf(g).State == "held" })
		eventually(t, 2*time.Minute, "all are ready", func() bool {
			return g.Member("m1").Ready() && g.Member("m2").Ready() && g.Member("m3").Ready()
		})
		n := ids.count()
		time.Sleep(30 * time.Second)
		if ids.count() < n+100 {
			t.Error("hardly any IDs are issued")
		}
		t.Logf("the longest wait was %v", ids.wait("web"))
		load.stop()
	})
}

// TestAnchorRestart: all members of a durable grid are killed and started again. Names and
// IDs are as before, after a wait for the limit at most.
func TestAnchorRestart(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAnchorStore()
		g := gridtest.New(t, gridtest.Config{Members: 3, Durable: true,
			Change: func(_ string, c *grid.Config) { c.Anchor = s }})
		g.StartMembers(names(3)...)
		ids := newChecker(t)
		load := ids.load(50 * time.Millisecond)
		load.run("web", create(t, g.Client("web"), "orders", 128))
		claim := anchorOf(g).Claim
		for range 2 {
			g.Crash(names(3)...)
			began := time.Now()
			g.StartMembers(names(3)...)
			n := ids.count()
			eventually(t, time.Minute, "IDs again", func() bool { return ids.count() > n+10 })
			if took := time.Since(began); took > 45*time.Second {
				t.Errorf("IDs after %v", took)
			}
			if got := anchorOf(g).Claim; got == claim || got == "" {
				t.Errorf("the claim is %s again", got)
			}
			claim = anchorOf(g).Claim
			time.Sleep(20 * time.Second)
		}
		load.stop()
		if _, err := g.Client("again").OpenSequencer(within(t, time.Minute), "orders"); err != nil {
			t.Error(err)
		}
	})
}
