package gridtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestHolderOfAnEarlierLife: a memory-only grid loses everything and starts again
// under a clock that was stepped back by two minutes, which its start cannot know. A
// holder that lived through it shows its grant, and every floor goes above (S2).
func TestHolderOfAnEarlierLife(t *testing.T) {
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
		g.Crash("m1")
		g.StepClock("m1", -2*time.Minute)
		g.StartMembers("m1")

		time.Sleep(30 * time.Second) // in which the survivor renews
		for _, p := range g.Member("m1").Status().Partitions {
			if p.Floor.Before(granted) {
				t.Errorf("partition %d begins at %v, the survivor was granted up to %v", p.ID, p.Floor, granted)
			}
		}
		other, err := g.Client("other").CreateSequencer(t.Context(), "orders", sequencer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []*sequencer.Sequencer{survivor, other} {
			id, err := s.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if at := s.Definition().Decompose(id).Time; at.Before(granted) && s == other {
				t.Errorf("%v has time %v, below what the survivor was granted: %v", id, at, granted)
			}
		}
	})
}
