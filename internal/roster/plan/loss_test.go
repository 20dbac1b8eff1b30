package plan

import (
	"slices"
	"testing"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/internal/rostertest"
)

// TestPlanWhileLearning: a partition that was lost stays with its owner until
// time has come to its floor, though another is to have it; not a moment longer, and not with
// an owner that leaves.
func TestPlanWhileLearning(t *testing.T) {
	r := settledGrid(t, 1, "a1", "b1")
	a, b := r.Partitions[0].Owner, rostertest.Incarnation("b1")
	if a == b {
		b = rostertest.Incarnation("a1")
	}
	p := roster.Partition{Owner: b, InSync: rostertest.Incarnations([]string{"a1", "b1"}), Term: 1, LostTerm: 1,
		Floor: r.Ceiling}
	r.Partitions[0] = p
	r.Time = p.Floor - 1
	if c, found := new(Planner).Plan(r, Sight{}); found {
		t.Errorf("it is moved before its floor: %+v", c.Change)
	}
	if c, _ := new(Planner).Plan(r, Sight{Leave: []roster.Incarnation{b}}); c.Change == nil || len(c.Change.Take) != 1 {
		t.Errorf("it keeps an owner that leaves: %+v", c.Change)
	}
	late := *r
	late.Time++
	if c, _ := new(Planner).Plan(&late, Sight{}); c.Change == nil || len(c.Change.Take) != 1 {
		t.Errorf("it is not moved at its floor: %+v", c.Change)
	}
	r.Partitions[0].Term = 2
	if c, _ := new(Planner).Plan(r, Sight{}); c.Change == nil || len(c.Change.Take) != 1 {
		t.Errorf("it was taken over since, and is not moved: %+v", c.Change)
	}
}

// TestPlanEarlierLife: grants of an earlier life that reach above a floor lose
// every partition again, above them and with their present owners; once (S2).
func TestPlanEarlierLife(t *testing.T) {
	r := settledGrid(t, 8, "a1", "b1")
	ceiling := r.Ceiling
	for _, until := range []clustertime.Tick{ceiling + 5_000, ceiling + 9_000} {
		before := r
		r = step(t, before, Sight{Granted: until})
		for id, p := range r.Partitions {
			if p.Floor < until || p.LostTerm != roster.Term(r.Version) || p.Owner != before.Partitions[id].Owner {
				t.Fatalf("partition %d after a grant until %d: %+v", id, until, p)
			}
		}
		if r.Ceiling != until {
			t.Errorf("ceiling %d, want %d", r.Ceiling, until)
		}
		for _, seen := range []clustertime.Tick{until, ceiling} {
			if c, found := new(Planner).Plan(r, Sight{Granted: seen}); found {
				t.Errorf("a grant until %d again: %+v", seen, c.Change)
			}
		}
	}
}

// TestPlanEarlierLifeUnowned: grants below the ceiling do not matter to partitions without
// an owner; those above it raise the ceiling, once (S2).
func TestPlanEarlierLifeUnowned(t *testing.T) {
	r := rostertest.Apply(t, rostertest.Raise(t, rostertest.Formed(t, 2, roster.DefaultWindow), 5_000),
		roster.Change{Join: rostertest.Records([]string{"a1"})})
	if c, found := new(Planner).Plan(r, Sight{Granted: r.Ceiling}); found {
		t.Errorf("no partition has an owner: %+v", c.Change)
	}
	until := r.Ceiling + 1
	if r = step(t, r, Sight{Granted: until}); r.Ceiling != until {
		t.Errorf("ceiling %d, want %d", r.Ceiling, until)
	}
	if c, found := new(Planner).Plan(r, Sight{Granted: until}); found {
		t.Errorf("once more: %+v", c.Change)
	}
}

// TestPlanEarlierLifeLosesAll: one floor that is too low means that no floor can be
// trusted, so partitions with a floor above the grants are lost too (S2).
func TestPlanEarlierLifeLosesAll(t *testing.T) {
	r := settledGrid(t, 3, "a1")
	r.Partitions[1].Floor = 7
	if c, _ := new(Planner).Plan(r, Sight{Granted: 8}); c.Change == nil || len(c.Change.Lose) != 3 {
		t.Errorf("planned %+v", c.Change)
	}
}

// TestPlanLosesToWhoAnswers: a partition is lost to members that answer, though
// the ring names only silent ones, and to no more than are wanted.
func TestPlanLosesToWhoAnswers(t *testing.T) {
	names := []string{"a1", "b1", "c1", "d1", "e1", "f1"}
	r := settledGrid(t, 1, names...)
	gone := slices.DeleteFunc(rostertest.Incarnations(names), r.Partitions[0].Keeps)[0]
	silent := r.Partitions[0].InSync
	r.Partitions[0] = roster.Partition{Owner: gone, InSync: []roster.Incarnation{gone}, Term: 1, LostTerm: 1}
	staying := slices.DeleteFunc(rostertest.Incarnations(names), func(i roster.Incarnation) bool { return i == gone })
	var members []roster.MemberID
	for _, i := range staying {
		members = append(members, i.Member())
	}
	silent = slices.Concat(silent, slices.DeleteFunc(staying, func(i roster.Incarnation) bool {
		return !slices.Contains(Place(members, 1, 1)[0], i.Member())
	}))
	r = step(t, r, Sight{Gone: []roster.Incarnation{gone}, Silent: silent})
	if p := r.Partitions[0]; slices.ContainsFunc(p.InSync,
		func(i roster.Incarnation) bool { return slices.Contains(silent, i) }) || len(p.InSync) > 2 {
		t.Errorf("lost to %+v, silent are %v", p, silent)
	}
}
