package gridtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestHolderOfAnEarlierLife: a memory-only grid loses everything and starts again
// under a clock that was stepped back, which its start cannot know. A holder that lived
// through it shows its grant. Up to what an earlier life can have granted, every floor
// goes above it (S2); beyond that its logical node is kept for it, and others wait for
// nothing.
func TestHolderOfAnEarlierLife(t *testing.T) {
	for what, c := range map[string]struct {
		back   time.Duration
		floors bool
	}{"a little": {7 * time.Second, true}, "far": {2 * time.Minute, false}} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := gridtest.Start(t, gridtest.Config{Members: 1})
				survivor, err := g.Client("survivor").CreateSequencer(t.Context(), "orders", sequencer.Config{})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := survivor.Next(t.Context()); err != nil {
					t.Fatal(err)
				}
				granted := survivor.Stats().GrantUntil
				// What an earlier life can have granted grows with the time of this one: the
				// survivor comes when its grant is below that by any of its clocks.
				g.Network.Cut("survivor", "m1")
				g.Crash("m1")
				g.StepClock("m1", -c.back)
				g.StartMembers("m1")
				began := time.Now()
				time.Sleep(5 * time.Second)
				g.Network.Heal("survivor", "m1")
				time.Sleep(30 * time.Second) // in which the survivor renews
				for _, p := range g.Member("m1").Status().Partitions {
					if p.Floor.Before(granted) == c.floors {
						t.Errorf("partition %d begins at %v, the survivor was granted up to %v", p.ID, p.Floor, granted)
					}
				}
				other, err := g.Client("other").CreateSequencer(t.Context(), "orders", sequencer.Config{})
				if err != nil {
					t.Fatal(err)
				}
				id, err := other.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if at := other.Definition().Decompose(id).Time; c.floors && at.Before(granted) {
					t.Errorf("%v has time %v, below the end of the survivor's grant: %v", id, at, granted)
				}
				own, _ := survivor.LogicalNode()
				if node, _ := other.LogicalNode(); node == own {
					t.Errorf("both have logical node %d", node)
				}
				if _, err := survivor.Next(t.Context()); err != nil {
					t.Fatal(err)
				}
				t.Logf("all issue %v after the start", time.Since(began))
			})
		})
	}
}
