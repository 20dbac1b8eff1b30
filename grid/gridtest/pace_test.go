package gridtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// TestMovesDoNotStandStill: with empty tables a move waits for nothing but the calls
// it needs, however many partitions there are. The times are virtual: a busy machine
// does not change them.
func TestMovesDoNotStandStill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Change: joinersExpectNothing(3)})
		awaitFull(t, g, 20*time.Second)
		began := time.Now()
		g.StartMembers("m4")
		eventually(t, 20*time.Second, "the joiner is ready", g.Member("m4").Ready)
		join := time.Since(began)
		awaitFull(t, g, 20*time.Second)

		began = time.Now()
		g.Leave("m2")
		leave := time.Since(began)
		awaitFull(t, g, 20*time.Second)

		leader := g.Leader()
		began = time.Now()
		g.Crash(other(g, leader))
		eventually(t, 20*time.Second, "the crash is noticed", func() bool { return lacking(g) != "" })
		awaitFull(t, g, 20*time.Second)
		crash := time.Since(began)

		t.Logf("join until ready %v, leave %v, second copy after a crash %v", join, leave, crash)
		if join > 1500*time.Millisecond || leave > 1500*time.Millisecond || crash > 3*time.Second {
			t.Errorf("join until ready %v, leave %v, second copy after a crash %v; want at most 1.5 s, 1.5 s, 3 s", join, leave, crash)
		}
	})
}
