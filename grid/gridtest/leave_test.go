package gridtest_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
)

// TestLeaveDownToOne: a leaving member stays until it is no longer a Raft server, since its
// vote may be needed for that; otherwise the others could lose their majority. The order of
// the steps differs, so the test repeats them.
func TestLeaveDownToOne(t *testing.T) {
	t.Parallel()
	for range long.Or(2, 4) {
		synctest.Test(t, func(t *testing.T) {
			g := gridtest.Start(t, gridtest.Config{Members: 4, Durable: true})
			for left := 3; left > 0; left-- {
				time.Sleep(5 * time.Second)
				name := g.Running()[left/2]
				lead := g.Leader()
				if err := g.TryLeave(within(t, 30*time.Second), name); err != nil {
					t.Fatalf("%s leaves, %s leads: %v", name, lead, err)
				}
			}
		})
	}
}

// TestLeaderLeavesPastACut: a leader that leaves passes its lead to a voter that it
// reaches, although gossip sees the other one alive too, and that one continues with a
// majority that answers. The leaving member may have to stay for its tables until the
// network partition has healed.
func TestLeaderLeavesPastACut(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	for i := range 4 {
		synctest.Test(t, func(t *testing.T) {
			g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
			lead := g.Leader()
			others := slices.DeleteFunc(g.Running(), func(name string) bool { return name == lead })
			cut, reached := others[i%2], others[1-i%2]
			g.Network.Cut(lead, cut)
			time.Sleep(300 * time.Millisecond)
			left := make(chan error, 1)
			go func() { left <- g.TryLeave(within(t, 60*time.Second), lead) }()
			awaitLeader(t, g, reached, 8*time.Second)
			time.Sleep(5 * time.Second)
			awaitLeader(t, g, reached, time.Second)
			g.Network.HealAll()
			if err := <-left; err != nil {
				t.Errorf("%s leaves, cut from %s for a time: %v", lead, cut, err)
			}
		})
	}
}

// awaitLeader waits until a member knows itself to lead.
func awaitLeader(t *testing.T, g *gridtest.Grid, name string, limit time.Duration) {
	t.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(50 * time.Millisecond) {
		st := g.Member(name).Status()
		if st.Leader == st.Answering {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not lead after %v, but %q", name, limit, st.Leader)
		}
	}
}

// TestLeaveDuringACutOfOthers: while the leader is cut from one voter it needs the vote of
// the other. If that one leaves, it is let go when the cut has healed, and the leader
// leads all the time.
func TestLeaveDuringACutOfOthers(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	for i := range 2 {
		synctest.Test(t, func(t *testing.T) {
			g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
			lead := g.Leader()
			others := slices.DeleteFunc(g.Running(), func(name string) bool { return name == lead })
			leaver, cut := others[i], others[1-i]
			g.Network.Cut(lead, cut)
			left := make(chan error, 1)
			go func() { left <- g.TryLeave(within(t, 60*time.Second), leaver) }()
			time.Sleep(15 * time.Second)
			awaitLeader(t, g, lead, time.Second)
			g.Network.HealAll()
			if err := <-left; err != nil {
				t.Errorf("%s leaves, %s is cut from %s, which leads: %v", leaver, cut, lead, err)
			}
			time.Sleep(2 * time.Second)
			awaitLeader(t, g, lead, time.Second)
		})
	}
}

// TestLeaderCrashesWhileItLeaves: the leader of three members without disks begins to
// leave and dies. Those that stay elect another, however far it has come.
func TestLeaderCrashesWhileItLeaves(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	for _, after := range []time.Duration{20 * time.Millisecond, 80 * time.Millisecond, 200 * time.Millisecond,
		500 * time.Millisecond} {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := gridtest.Start(t, gridtest.Config{Members: 3, Delay: 20 * time.Millisecond})
				ids := newChecker(t)
				orders := create(t, g.Client("c"), "orders", 0)
				ids.caller("c").must(orders, 10)
				time.Sleep(10 * time.Second)
				lead := g.Leader()
				timer := time.AfterFunc(after, func() { g.Network.Crash(lead) })
				defer timer.Stop()
				_ = g.TryLeave(within(t, 2*time.Second), lead)
				time.Sleep(20 * time.Second)
				for _, name := range g.Running() {
					if s := g.Member(name).Status(); !s.Ready || s.Leader == "" {
						t.Fatalf("%s: leader %q, ready %v (%s)", name, s.Leader, s.Ready, s.NotReady)
					}
				}
				ids.caller("c").must(orders, 10)
			})
		})
	}
}
