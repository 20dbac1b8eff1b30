package partition

import (
	"errors"
	"slices"
	"testing"
)

// TestCommandHasOnePart: none, or two at once, are refused.
func TestCommandHasOnePart(t *testing.T) {
	r := formed(t, 3, DefaultWindow)
	for _, c := range []Command{
		{From: 1},
		{From: 1, Change: &Change{}},
		{From: 1, Raise: &Raise{}, Change: &Change{Window: 20_000}},
		{From: 1, Form: &Form{}},
	} {
		if next, err := r.Apply(c); !errors.Is(err, ErrRefused) || next != r {
			t.Errorf("%+v: %v", c, err)
		}
	}
	form := Form{Settings: r.Settings}
	if _, err := new(Roster).Apply(Command{Form: &form}); !errors.Is(err, ErrRefused) {
		t.Errorf("a grid without ID: %v", err)
	}
}

// TestJoinContradictions: an incarnation has one record, and does not come and
// go in one entry.
func TestJoinContradictions(t *testing.T) {
	a := record(incarnation("a1"))
	r := mustApply(t, formed(t, 3, DefaultWindow), Change{Join: []Member{a}})
	moved := a
	moved.API = "elsewhere:1"
	for name, c := range map[string]Change{
		"another record":    {Join: []Member{moved}},
		"malformed":         {Join: []Member{{Incarnation: "me"}}},
		"joins and removed": {Join: []Member{a}, Remove: []Incarnation{a.Incarnation}},
	} {
		if next, err := r.Apply(Command{From: r.Version, Change: &c}); !errors.Is(err, ErrRefused) || next != r {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestQueries covers what is read from a roster.
func TestQueries(t *testing.T) {
	var none Roster
	if none.Formed() || none.Assigned() || none.Owned("") != nil {
		t.Error("the zero roster is formed, assigned or owned")
	}
	r := formed(t, 3, DefaultWindow)
	if r.Assigned() || r.Owned("") != nil {
		t.Error("a new roster is assigned or owned")
	}
	a, b, c := incarnation("a1"), incarnation("b1"), incarnation("c1")
	r = mustApply(t, r, Change{
		Join: []Member{record(b), record(a), record(c)},
		Lose: []Loss{{Partition: 2, Owner: a, With: []Incarnation{b}}, {Partition: 0, Owner: a}},
	})
	if got := r.Owned(a); !slices.Equal(got, []ID{0, 2}) || r.Assigned() {
		t.Errorf("owned %v, assigned %v", got, r.Assigned())
	}
	if m, found := r.Member(b); !found || m != record(b) {
		t.Errorf("member b: %v %v", m, found)
	}
	if _, found := r.Member(incarnation("b2")); found {
		t.Error("b2 is a member")
	}
	if r = mustApply(t, r, Change{Lose: []Loss{{Partition: 1, Owner: b}}, Add: replicas("2c1")}); !r.Assigned() || r.Joining() != 1 {
		t.Errorf("assigned %v, %d join", r.Assigned(), r.Joining())
	}
	if p := r.Partitions[2]; !p.Keeps(a) || !p.Keeps(b) || !p.Keeps(c) || p.Keeps(incarnation("d1")) || r.Partitions[1].Keeps(a) {
		t.Errorf("who keeps partition 2: %+v", p)
	}
}

// TestApplyShares: what a command does not change is not copied.
func TestApplyShares(t *testing.T) {
	r := mustApply(t, formed(t, 3, DefaultWindow), Change{Join: records([]string{"a1"})})
	for _, c := range []Change{{Window: 20_000}, {Settle: r.Unsettled}, {Granted: 5}} {
		next := mustApply(t, r, c)
		if &next.Members[0] != &r.Members[0] || &next.Partitions[0] != &r.Partitions[0] {
			t.Errorf("%+v copied members or partitions", c)
		}
	}
}
