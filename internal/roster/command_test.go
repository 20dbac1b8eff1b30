package roster_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/internal/rostertest"
)

// TestCommandHasOnePart: a command without a part, or with two, is refused.
func TestCommandHasOnePart(t *testing.T) {
	r := rostertest.Formed(t, 3, roster.DefaultWindow)
	for _, c := range []roster.Command{
		{From: 1},
		{From: 1, Change: &roster.Change{}},
		{From: 1, Raise: &roster.Raise{}, Change: &roster.Change{Window: 20_000}},
		{From: 1, Form: &roster.Form{}},
	} {
		if next, err := r.Apply(c); !errors.Is(err, roster.ErrRefused) || next != r {
			t.Errorf("%+v: %v", c, err)
		}
	}
	form := roster.Form{Settings: r.Settings}
	if _, err := new(roster.Roster).Apply(roster.Command{Form: &form}); !errors.Is(err, roster.ErrRefused) {
		t.Errorf("a grid without ID: %v", err)
	}
}

// TestJoinContradictions: an incarnation has one record, and does not come and
// go in one entry.
func TestJoinContradictions(t *testing.T) {
	a := rostertest.Record(rostertest.Incarnation("a1"))
	r := rostertest.Apply(t, rostertest.Formed(t, 3, roster.DefaultWindow), roster.Change{Join: []roster.Member{a}})
	moved := a
	moved.API = "elsewhere:1"
	for name, c := range map[string]roster.Change{
		"another record":    {Join: []roster.Member{moved}},
		"malformed":         {Join: []roster.Member{{Incarnation: "me"}}},
		"joins and removed": {Join: []roster.Member{a}, Remove: []roster.Incarnation{a.Incarnation}},
	} {
		if next, err := r.Apply(roster.Command{From: r.Version, Change: &c}); !errors.Is(err, roster.ErrRefused) ||
			next != r {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestQueries covers the queries of a roster.
func TestQueries(t *testing.T) {
	var none roster.Roster
	if none.Formed() || none.Assigned() || none.Owned("") != nil {
		t.Error("the zero roster is formed, assigned or owned")
	}
	r := rostertest.Formed(t, 3, roster.DefaultWindow)
	if r.Assigned() || r.Owned("") != nil {
		t.Error("a new roster is assigned or owned")
	}
	a, b, c := rostertest.Incarnation("a1"), rostertest.Incarnation("b1"), rostertest.Incarnation("c1")
	r = rostertest.Apply(t, r, roster.Change{
		Join: []roster.Member{rostertest.Record(b), rostertest.Record(a), rostertest.Record(c)},
		Lose: []roster.Loss{{Partition: 2, Owner: a, With: []roster.Incarnation{b}}, {Partition: 0, Owner: a}},
	})
	if got := r.Owned(a); !slices.Equal(got, []roster.PartitionID{0, 2}) || r.Assigned() {
		t.Errorf("owned %v, assigned %v", got, r.Assigned())
	}
	if m, found := r.Member(b); !found || m != rostertest.Record(b) {
		t.Errorf("member b: %v %v", m, found)
	}
	if _, found := r.Member(rostertest.Incarnation("b2")); found {
		t.Error("b2 is a member")
	}
	if r = rostertest.Apply(t, r, roster.Change{Lose: []roster.Loss{{Partition: 1, Owner: b}},
		Add: rostertest.Replicas("2c1")}); !r.Assigned() || r.Joining() != 1 {
		t.Errorf("assigned %v, %d join", r.Assigned(), r.Joining())
	}
	if p := r.Partitions[2]; !p.Keeps(a) || !p.Keeps(b) || !p.Keeps(c) || p.Keeps(rostertest.Incarnation("d1")) ||
		r.Partitions[1].Keeps(a) {
		t.Errorf("who keeps partition 2: %+v", p)
	}
}

// TestApplyShares: unchanged parts of a roster are not copied.
func TestApplyShares(t *testing.T) {
	r := rostertest.Apply(t, rostertest.Formed(t, 3, roster.DefaultWindow),
		roster.Change{Join: rostertest.Records([]string{"a1"})})
	for _, c := range []roster.Change{{Window: 20_000}, {Settle: r.Unsettled}, {Granted: 5}} {
		next := rostertest.Apply(t, r, c)
		if &next.Members[0] != &r.Members[0] || &next.Partitions[0] != &r.Partitions[0] {
			t.Errorf("%+v copied members or partitions", c)
		}
	}
}

// TestApplyRefusesUnreadableRosters: a command that no check of its own refuses, and whose
// roster no member could read.
func TestApplyRefusesUnreadableRosters(t *testing.T) {
	r := rostertest.Formed(t, 2, roster.DefaultWindow)
	form := roster.Form{Grid: roster.GridID{9}, Settings: r.Settings, Version: math.MaxUint64}
	if next, err := new(roster.Roster).Apply(roster.Command{Form: &form}); !errors.Is(err, roster.ErrRefused) {
		t.Errorf("a grid whose next version is 0: %v, %v", next.Version, err)
	}
	if err := r.Check(); err != nil {
		t.Errorf("a new roster: %v", err)
	}
	damaged := *r
	damaged.Began = 1 << 60
	if err := damaged.Check(); !errors.Is(err, roster.ErrInvalid) || !strings.Contains(err.Error(), "its start, ") {
		t.Errorf("a damaged one: %v", err)
	}
	if next, err := damaged.Apply(roster.Command{From: r.Version, Raise: &roster.Raise{Time: 5}}); !errors.Is(err,
		roster.ErrRefused) || next != &damaged {
		t.Errorf("a raise of a damaged roster: %v", err)
	}
}
