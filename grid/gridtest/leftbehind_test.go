package gridtest_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
)

// TestLeftBehind: the voters of an anchored grid are killed and start again while they reach no other
// member: they take the record under another claim. After the heal the others, registered under the
// claim before, join again by themselves, with the definitions on their disks, and their own handles
// go on.
func TestLeftBehind(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	for _, c := range []struct {
		members, voters int
		cut             time.Duration
	}{{2, 1, 20 * time.Second}, {3, 1, 2 * time.Minute}, {3, 3, time.Minute}, {8, 1, 20 * time.Second}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { leaveBehind(t, c.members, c.voters, c.cut) })
		})
	}
}

func leaveBehind(t *testing.T, members, voters int, cut time.Duration) {
	s, log := newAnchorStore(), &recorder{}
	g := gridtest.New(t, gridtest.Config{Members: members, Durable: true, Logger: log.logger(),
		Change: func(_ string, cfg *grid.Config) {
			cfg.Anchor, cfg.Voters = s, voters
		}})
	var all []string
	for i := range members {
		all = append(all, fmt.Sprint("m", i+1))
	}
	g.StartMembers(all...)
	orders := create(t, g.Client("web"), "orders", 0)
	ids := newChecker(t)
	ids.caller("web").must(orders, 10)
	time.Sleep(30 * time.Second)
	restarts := []string{g.Leader()}
	if voters > 1 {
		restarts = append(restarts, other(g, g.Leader()))
	}
	kept := other(g, restarts...)
	own := create(t, g.Member(kept), "own", 0)
	ids.caller("own").must(own, 10)
	for _, m := range g.Running() {
		for _, r := range restarts {
			if m != restarts[0] && (len(restarts) < 2 || m != restarts[1]) {
				g.Network.Cut(m, r)
			}
		}
	}
	g.Crash(restarts...)
	time.Sleep(time.Second)
	g.StartMembers(restarts...)
	time.Sleep(cut)
	if why := g.Member(kept).Status().NotReady; !strings.Contains(why, "the ceiling was not raised for") {
		t.Errorf("%s, cut off, is not ready for another reason: %q", kept, why)
	}
	g.Network.HealAll()
	healed := time.Now()
	eventually(t, 20*time.Second, "the reason is named", func() bool {
		return strings.Contains(g.Member(kept).Status().NotReady, "left behind")
	})
	awaitReady(t, g, 2*time.Minute)
	t.Logf("all ready %v after the heal", time.Since(healed))
	ids.caller("late").must(orders, 1)
	ids.caller("own").must(own, 1)
	again := create(t, g.Client("new"), "orders", 0)
	ids.caller("new").must(again, 10)
	if n := log.count("left behind: the grid continues under another anchor claim; this member discards its own and " +
		"joins again"); n != members-len(restarts) {
		t.Errorf("%d members say that they are left behind, want %d", n, members-len(restarts))
	}
}
