package gridtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
)

// TestMovesDoNotStandStill: with empty tables a move waits for nothing but the calls
// it needs, however many partitions there are. The times are virtual: a busy machine
// does not change them.
func TestMovesDoNotStandStill(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Change: joinersExpectNothing(3)})
		awaitFull(t, g, 20*time.Second)
		began := time.Now()
		g.StartMembers("m4")
		eventually(t, 30*time.Second, "the joiner is ready", g.Member("m4").Ready)
		join := time.Since(began)
		awaitFull(t, g, 30*time.Second)

		began = time.Now()
		g.Leave(other(g, g.Leader()))
		leave := time.Since(began)
		awaitFull(t, g, 30*time.Second)
		g.StartMembers("m5")
		awaitFull(t, g, 30*time.Second)

		began = time.Now()
		g.Leave(g.Leader())
		leader := time.Since(began)
		awaitFull(t, g, 30*time.Second)

		began = time.Now()
		g.Crash(other(g, g.Leader()))
		eventually(t, 30*time.Second, "the crash is noticed", func() bool { return lacking(g) != "" })
		awaitFull(t, g, 30*time.Second)
		crash := time.Since(began)

		for what, c := range map[string]struct{ took, limit time.Duration }{
			"join until ready":          {join, 1500 * time.Millisecond},
			"leave":                     {leave, 1500 * time.Millisecond},
			"leave of the leader":       {leader, 1500 * time.Millisecond},
			"second copy after a crash": {crash, 2 * time.Second},
		} {
			t.Logf("%s: %v", what, c.took)
			if c.took > c.limit {
				t.Errorf("%s took %v, want at most %v", what, c.took, c.limit)
			}
		}
	})
}
