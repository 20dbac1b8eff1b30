package roster_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/internal/rostertest"
)

// kept is a grid of the volatile a1 to e1, which all vote: a1 owns partition 0 with b1 in
// sync, and c1 owns partition 1 alone.
func kept(t *testing.T) *roster.Roster {
	t.Helper()
	names := []string{"a1", "b1", "c1", "d1", "e1"}
	r := rostertest.Apply(t, rostertest.Formed(t, 2, roster.DefaultWindow), roster.Change{Join: rostertest.Records(names)})
	r = rostertest.Apply(t, r, roster.Change{
		Lose: []roster.Loss{
			{0, rostertest.Incarnation("a1"), rostertest.Incarnations([]string{"b1"})}, {1, rostertest.Incarnation("c1"), nil},
		},
		Settle:  rostertest.Incarnations(names),
		Keepers: rostertest.Incarnations(names),
	})
	return rostertest.Apply(t, r, roster.Change{Persist: []roster.PartitionID{0, 1}})
}

// TestKeepers: who keeps definitions in memory, and what each change makes of it.
func TestKeepers(t *testing.T) {
	durable := rostertest.Record(rostertest.Incarnation("f1"))
	durable.Durable = true
	one := func(name string) []roster.Incarnation { return rostertest.Incarnations([]string{name}) }
	persist := roster.Change{Persist: []roster.PartitionID{0}}
	for name, test := range map[string]struct {
		changes []roster.Change
		want    []roster.MemberID
		memory  bool
	}{
		"two in sync and another voter": {nil, rostertest.MemberIDs("a1", "b1", "c1"), true},
		"a loss": {[]roster.Change{{Lose: []roster.Loss{{0, rostertest.Incarnation("e1"), nil}}}},
			rostertest.MemberIDs("a1", "b1", "c1"), true},
		"a loss and a report": {[]roster.Change{{Lose: []roster.Loss{{0, rostertest.Incarnation("e1"), nil}}}, persist},
			rostertest.MemberIDs("a1", "b1", "e1"), true},
		"a voter in doubt": {[]roster.Change{{Doubt: one("c1")}, persist}, rostertest.MemberIDs("a1", "b1", "d1"),
			true},
		"a voter that is dead": {[]roster.Change{{Remove: one("d1")}}, rostertest.MemberIDs("a1", "b1", "c1"), true},
		"a keeper that has no vote": {[]roster.Change{{Keepers: rostertest.Incarnations([]string{"a1", "d1", "e1"})},
			persist}, rostertest.MemberIDs("a1", "d1"), true},
		"one more in sync": {[]roster.Change{{Add: rostertest.Replicas("0e1")},
			{Admit: rostertest.Replicas("0e1")}, persist}, rostertest.MemberIDs("a1", "b1", "e1"), true},
		"a durable member joins": {[]roster.Change{{Join: []roster.Member{durable}}},
			rostertest.MemberIDs("a1", "b1", "c1"), true},
		"a durable replica has it": {[]roster.Change{{Join: []roster.Member{durable}}, {Add: rostertest.Replicas("0f1")},
			{Admit: rostertest.Replicas("0f1")}, persist}, rostertest.MemberIDs("f1"), false},
		"a keeper is given up": {[]roster.Change{{Remove: one("d1")},
			{Keepers: rostertest.Incarnations([]string{"a1", "b1", "e1"})}}, rostertest.MemberIDs("a1", "b1", "c1"), true},
		"the dead are given up": {[]roster.Change{{Lose: []roster.Loss{{1, rostertest.Incarnation("d1"), nil}},
			Remove: one("c1")}, {Forget: rostertest.MemberIDs("c1")}}, rostertest.MemberIDs("a1", "b1"), true},
		"all are given up, and again": {[]roster.Change{{Lose: []roster.Loss{{0, rostertest.Incarnation("d1"), nil},
			{1, rostertest.Incarnation("e1"), nil}}, Remove: rostertest.Incarnations([]string{"a1", "b1", "c1"})},
			{Forget: rostertest.MemberIDs("a1", "b1", "c1")}, persist}, rostertest.MemberIDs("d1", "e1"), true},
	} {
		r := kept(t)
		for _, c := range test.changes {
			r = rostertest.Apply(t, r, c)
		}
		if p := r.Partitions[0]; !slices.Equal(p.Disk, test.want) || p.Memory != test.memory {
			t.Errorf("%s: %v are named, in memory: %v; want %v, %v", name, p.Disk, p.Memory, test.want, test.memory)
		}
	}
}

// TestNeededKeepers: an answer waits for voters that are named and alive, also if others are
// next, and where a disk is named memory does not take its place.
func TestNeededKeepers(t *testing.T) {
	r := rostertest.Apply(t, kept(t), roster.Change{Keepers: rostertest.Incarnations([]string{"a1", "d1", "e1"})})
	s := r.Storage(0)
	if want := rostertest.Incarnations([]string{"a1", "b1", "c1", "d1"}); !slices.Equal(s.Needed, want) ||
		len(s.Next) != 2 {
		t.Errorf("%v are needed, %v are next; want %v and two", s.Needed, s.Next, want)
	}
	r = stored(t)
	for _, p := range []string{"a1", "b1", "c1"} { // the members with disks end one after the other
		i := rostertest.Incarnation(p)
		var c roster.Change
		for id, part := range r.Partitions {
			if part.Owner == i {
				c.Lose = append(c.Lose, roster.Loss{Partition: roster.PartitionID(id), Owner: rostertest.Incarnation("d1")})
			}
		}
		c.Remove = []roster.Incarnation{i}
		r = rostertest.Apply(t, r, c)
	}
	r = rostertest.Apply(t, r, roster.Change{Keepers: rostertest.Incarnations([]string{"d1"})})
	if s := r.Storage(0); s.Memory || len(s.Next) > 0 {
		t.Errorf("the disks of %v are named, and memory takes their place: %+v", r.Partitions[0].Disk, s)
	}
	if s := r.Storage(2); !s.Memory || len(s.Next) != 1 {
		t.Errorf("no disk is named, and %+v store the definitions", s)
	}
}

// TestKeepersAreAMajority: the members that are next are a majority of the voters if so many
// are members, the voters in sync are among them, and naming them changes none of them.
func TestKeepersAreAMajority(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := *rostertest.Formed(t, 5, roster.DefaultWindow)
		r.Partitions = slices.Clone(r.Partitions)
		var all []roster.Incarnation
		for k := range rapid.IntRange(1, 9).Draw(rt, "members") {
			i := rostertest.Incarnation(fmt.Sprintf("%c1", 'a'+k))
			all = append(all, i)
			if rapid.IntRange(0, 4).Draw(rt, "alive") > 0 {
				r.Members = append(r.Members, rostertest.Record(i))
			}
		}
		some := func(what string) (out []roster.Incarnation) {
			for _, i := range all {
				if rapid.Bool().Draw(rt, what) {
					out = append(out, i)
				}
			}
			return out
		}
		r.Keepers, r.Unsettled = some("voters"), some("unsettled")
		if len(r.Keepers) == 0 {
			return
		}
		p := &r.Partitions[rapid.IntRange(0, 4).Draw(rt, "partition")]
		p.InSync, p.Memory = some("in sync"), true
		for _, i := range some("named") {
			p.Disk = append(p.Disk, i.Member())
		}
		id := roster.PartitionID(slices.IndexFunc(r.Partitions, func(q roster.Partition) bool { return q.Memory }))
		s := r.Storage(id)
		voting := slices.DeleteFunc(slices.Clone(r.Keepers), func(i roster.Incarnation) bool {
			_, in := r.Member(i)
			return !in
		})
		if want := min(len(r.Keepers)/2+1, len(voting)); len(s.Next) < want {
			rt.Fatalf("%v are next of the voters %v, of which %v are members", s.Next, r.Keepers, voting)
		}
		for _, i := range s.Next {
			if !slices.Contains(voting, i) || !slices.Contains(s.Needed, i) {
				rt.Fatalf("%s is next and no voter, or not needed", i)
			}
		}
		for _, i := range p.InSync {
			if slices.Contains(voting, i) && !slices.Contains(s.Next, i) {
				rt.Fatalf("%s votes, is in sync and not next", i)
			}
		}
		p.Disk = s.Members()
		if again := r.Storage(id); !slices.Equal(again.Next, s.Next) {
			rt.Fatalf("%v were named, and %v are next", s.Next, again.Next)
		}
	})
}

// TestRefusedKeepers: keepers that no leader names are refused.
func TestRefusedKeepers(t *testing.T) {
	r := kept(t)
	var many []roster.Incarnation
	for k := range 15 {
		many = append(many, rostertest.Incarnation(fmt.Sprintf("%c1", 'a'+k)))
	}
	for name, keepers := range map[string][]roster.Incarnation{
		"the same":     r.Keepers,
		"out of order": {r.Keepers[1], r.Keepers[0]},
		"twice":        {r.Keepers[0], r.Keepers[0]},
		"malformed":    {"x"},
		"too many":     many,
	} {
		c := roster.Command{From: r.Version, Change: &roster.Change{Keepers: keepers}}
		if _, err := r.Apply(c); !errors.Is(err, roster.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
		bad := *r
		if bad.Keepers = keepers; name != "the same" && !errors.Is(bad.Check(), roster.ErrInvalid) {
			t.Errorf("%s: a roster with them is valid", name)
		}
	}
}
