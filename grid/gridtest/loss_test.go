package gridtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// TestCreateAfterALoss: after a loss the owner does not know a name until its holders show
// it. A create of the name meanwhile waits for them, and returns their life instead of ending
// it.
func TestCreateAfterALoss(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		s := create(t, g.Client("c1"), "orders", 0)
		late := g.Client("late")
		time.Sleep(5 * time.Second)
		g.Crash(g.Running()...)
		g.StartMembers("m1", "m2", "m3")
		create(t, late, "orders", 0)
		time.Sleep(20 * time.Second)
		if _, err := s.Next(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestCreateDuringAnOwnerCrash: the same when one owner crashes.
func TestCreateDuringAnOwnerCrash(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		s := create(t, g.Client("c1"), "orders", 0)
		late := g.Client("late")
		time.Sleep(5 * time.Second)
		g.Crash(g.OwnerOf("orders"))
		create(t, late, "orders", 0)
		time.Sleep(20 * time.Second)
		if _, err := s.Next(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestCrashOfAnOwnerThatHasJustBegun: partitions without an earlier owner begin like lost
// ones, with replicas that have no table yet. If an owner crashes before they have one,
// nothing was granted, and new holders do not wait.
func TestCrashOfAnOwnerThatHasJustBegun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true, Delay: 20 * time.Millisecond})
		var names []string
		for _, name := range several(150) {
			if g.OwnerOf(name) == "m1" {
				names = append(names, name)
			}
		}
		g.Crash("m1")
		c := g.Client("c1")
		for _, name := range names {
			s := create(t, c, name, 0)
			_, err := s.Next(within(t, time.Minute))
			if st := s.Stats(); err != nil || st.GrantWaits > 0 {
				t.Fatalf("%s waited %v; error %v", name, st.LongestGrantWait, err)
			}
		}
		t.Logf("%d names", len(names))
	})
}
