package gridtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// TestLeaveDownToOne: whoever leaves stays until it is no Raft server any more, since
// its vote may be needed for that; else those that stay could be left without a
// majority. Which step is in the way differs, so it is tried some times.
func TestLeaveDownToOne(t *testing.T) {
	for range 4 {
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
