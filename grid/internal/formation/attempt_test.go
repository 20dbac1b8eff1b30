package formation

import (
	"sync"
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// TestGridAndAttempt: while a member enters the grid that it has attempted, others see it in one of both at any
// moment. A survivor that saw neither would take the attempt as given up, and join no grid.
func TestGridAndAttempt(t *testing.T) {
	f := &Formation{bindings: &bindings{deps: &deps{}, id: &Identity{Member: "self"}}, attempts: &attempts{}}
	next := Attempt{BootstrapMember: "self", Grid: roster.GridID{1}}
	for range 30_000 {
		f.id.Grid, f.next = roster.GridID{}, next
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for entered := false; !entered; {
					grid, attempted := f.GridAndAttempt()
					if entered = grid == next.Grid; !entered && attempted != next.Grid {
						t.Error("the member is in no grid and attempts none")
						return
					}
				}
			})
		}
		if err := f.belong(next.Grid, true); err != nil {
			t.Fatal(err)
		}
		if all.Wait(); t.Failed() {
			return
		}
	}
}
