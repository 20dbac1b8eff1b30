package gridtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// TestCreateAfterALoss: a loss makes the owner forget a name until its holders
// show it. Whoever creates the name meanwhile waits for them, and joins the life
// that they are in, instead of ending it.
func TestCreateAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		s := create(t, g.Client("c1"), "orders", 0)
		late := g.Client("late")
		time.Sleep(5 * time.Second)
		for _, name := range g.Running() {
			g.Crash(name)
		}
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
