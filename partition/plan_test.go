package partition

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestPlanMovesNothing: owners that stay keep what they own, a plan that was
// carried out leaves nothing to do, nobody is given more than the ring's limit,
// and the order in which things were seen does not matter.
func TestPlanMovesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, _ := new(Roster).Apply(Command{Form: &Form{
			Grid:     GridID{1},
			Settings: Settings{Name: "g", Partitions: rapid.IntRange(1, 40).Draw(t, "partitions"), Window: LoneWindow},
		}})
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			s := drawSight(t)
			c, found := Plan(r, s)
			mirrored, _ := Plan(r, Sight{Join: reversed(s.Join), Gone: reversed(s.Gone), Assign: s.Assign})
			if !reflect.DeepEqual(c, mirrored) {
				t.Fatalf("the order of what was seen matters:\n%+v\n%+v", c, mirrored)
			}
			if !found {
				continue
			}
			next, err := r.Apply(c)
			if err != nil {
				t.Fatal(err)
			}
			checkPlanned(t, r, next, s)
			r = next
		}
	})
}

func checkPlanned(t *rapid.T, before, after *Roster, s Sight) {
	for id, p := range after.Partitions {
		old := before.Partitions[id]
		_, stays := after.Member(old.Owner)
		switch {
		case stays && !reflect.DeepEqual(p, old):
			t.Fatalf("partition %d was moved from %s, which stays", id, old.Owner)
		case old.Owner == "" && (p.Owner != "") != s.Assign:
			t.Fatalf("partition %d had no owner; assign is %v and it has %q", id, s.Assign, p.Owner)
		}
	}
	limit := placeLimit(max(1, len(after.Members)), len(after.Partitions))
	for _, m := range after.Members {
		if had, has := before.Owned(m.Incarnation), after.Owned(m.Incarnation); len(has) > len(had) && len(has) > limit {
			t.Fatalf("%s was given more than %d partitions: %d after %d", m.Incarnation, limit, len(has), len(had))
		}
		if slices.Contains(s.Gone, m.Incarnation) {
			t.Fatalf("%s is gone and a member", m.Incarnation)
		}
	}
	if again, found := Plan(after, Sight{Gone: s.Gone, Assign: s.Assign}); found {
		t.Fatalf("there is more to do: %+v", again.Change)
	}
}

// TestPlanLeavesTheWindow: the window is what the grid was formed with, however
// many join.
func TestPlanLeavesTheWindow(t *testing.T) {
	for _, window := range []Tick{LoneWindow, 5_000, DefaultWindow} {
		r := step(t, formed(t, 3, window), Sight{Join: records([]string{"a1", "b1"}), Assign: true})
		if r.Settings.Window != window {
			t.Errorf("window %d became %d", window, r.Settings.Window)
		}
	}
}

// TestPlanNothing: what leaves the roster as it is gives no command.
func TestPlanNothing(t *testing.T) {
	everything := Sight{Join: records([]string{"a1"}), Gone: incarnations([]string{"b1"}), Assign: true}
	if _, found := Plan(&Roster{}, everything); found {
		t.Error("an unformed roster was planned for")
	}
	r := formed(t, 3, DefaultWindow)
	for name, s := range map[string]Sight{
		"nobody":           {Assign: true},
		"gone strangers":   {Gone: incarnations([]string{"a1"})},
		"joins and gone":   {Join: records([]string{"a1"}), Gone: incarnations([]string{"a1"}), Assign: true},
		"malformed record": {Join: []Member{{Incarnation: "me"}}, Assign: true},
	} {
		if c, found := Plan(r, s); found {
			t.Errorf("%s: %+v", name, c.Change)
		}
	}
}

// TestPlanSpreadsALoss: what a dead member owned is spread evenly also when the
// survivors own something already.
func TestPlanSpreadsALoss(t *testing.T) {
	r := formed(t, DefaultPartitions, DefaultWindow)
	r = step(t, r, Sight{Join: records([]string{"a1", "b1"}), Assign: true})
	r = step(t, r, Sight{Join: records([]string{"c1"})})
	r = step(t, r, Sight{Gone: incarnations([]string{"a1"})})
	b, c := len(r.Owned(incarnation("b1"))), len(r.Owned(incarnation("c1")))
	if limit := placeLimit(2, DefaultPartitions); b > limit || c > limit || b+c != DefaultPartitions {
		t.Errorf("b owns %d and c %d, at most %d each", b, c, limit)
	}
}

// TestPlanEarlierLife: grants of an earlier life that reach above a floor lose
// every partition anew, above them and with the owners they have; once (S2).
func TestPlanEarlierLife(t *testing.T) {
	r := formed(t, 8, DefaultWindow)
	r = step(t, r, Sight{Join: records([]string{"a1", "b1"}), Assign: true})
	ceiling := r.Ceiling
	for _, until := range []Tick{ceiling + 5_000, ceiling + 9_000} {
		before := r
		r = step(t, before, Sight{Granted: until})
		for id, p := range r.Partitions {
			if p.Floor < until || p.LostTerm != Term(r.Version) || p.Owner != before.Partitions[id].Owner {
				t.Fatalf("partition %d after a grant until %d: %+v", id, until, p)
			}
		}
		if r.Ceiling != until {
			t.Errorf("ceiling %d, want %d", r.Ceiling, until)
		}
		for _, seen := range []Tick{until, ceiling} {
			if c, found := Plan(r, Sight{Granted: seen}); found {
				t.Errorf("a grant until %d again: %+v", seen, c.Change)
			}
		}
	}
	if _, err := r.Apply(Command{From: r.Version, Change: &Change{Granted: latest + 1}}); err == nil {
		t.Error("a grant beyond the last tick was taken")
	}
}

func step(t *testing.T, r *Roster, s Sight) *Roster {
	t.Helper()
	c, found := Plan(r, s)
	if !found {
		t.Fatal("nothing to do")
	}
	return mustApply(t, r, *c.Change)
}

// ExamplePlan forms a grid of one member.
func ExamplePlan() {
	form := Form{
		Grid:     GridID{1},
		Settings: Settings{Name: "snowgrid", Partitions: DefaultPartitions, Window: DefaultWindow},
		Ceiling:  1_800_000_000_000,
	}
	roster, _ := new(Roster).Apply(Command{Form: &form})
	me := Member{Incarnation: "0123456789abcdef-00000000000000a1"}
	command, _ := Plan(roster, Sight{Join: []Member{me}, Assign: true})
	roster, err := roster.Apply(command)
	fmt.Println(err, roster.Version, len(roster.Owned(me.Incarnation)), roster.Partitions[0].Floor)

	_, err = roster.Apply(command)
	fmt.Println(err)
	// Output:
	// <nil> 2 271 1800000000000
	// partition: command is from another roster version: computed from 1, now 2
}
