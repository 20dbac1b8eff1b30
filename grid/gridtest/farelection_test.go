package gridtest_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
)

// TestFarVotersElectOne: when the leader's process ends, the voters do not split their votes, also where
// they are in two regions 80 ms apart.
func TestFarVotersElectOne(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	for _, members := range []int{3, 5} {
		for round := range long.Or(3, 12) {
			synctest.Test(t, func(t *testing.T) {
				g := gridtest.Start(t, gridtest.Config{Members: members})
				for _, name := range g.Running()[:members/2] {
					g.Network.SetRegion(name, "far")
				}
				g.Network.SetRegionDelay(40 * time.Millisecond)
				time.Sleep(time.Minute + time.Duration(round)*77*time.Millisecond)
				leads := g.Leader()
				g.Crash(leads)
				left := slices.DeleteFunc(g.Running(), func(name string) bool { return name == leads })
				began := time.Now()
				eventually(t, 600*time.Millisecond, "another leader", func() bool {
					return slices.ContainsFunc(left, func(name string) bool {
						s := g.Member(name).Status()
						return s.Leader == s.Answering
					})
				})
				t.Logf("%d members: another leader after %v", members, time.Since(began))
			})
		}
	}
}
