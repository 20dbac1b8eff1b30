package gridtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// TestSecondCrash: of three durable members one crashes, ten seconds later the
// leader does, then the first is started again. Two of three run, and serve: a dead
// voter with a disk keeps its vote until another takes its place.
func TestSecondCrash(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		s := create(t, g.Client("c1"), "orders", 0)
		time.Sleep(5 * time.Second)
		leader := g.Leader()
		first := map[string]string{"m1": "m2", "m2": "m3", "m3": "m1"}[leader]
		g.Crash(first)
		time.Sleep(10 * time.Second)
		g.Crash(leader)
		ok(t, "restart", g.TryMember(within(t, 30*time.Second), first))
		time.Sleep(30 * time.Second)
		_, err := s.Next(within(t, time.Minute))
		ok(t, "Next", err)
	})
}
