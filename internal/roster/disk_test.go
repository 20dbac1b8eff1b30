package roster_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/internal/rostertest"
)

// stored is a grid of a durable a1, b1 and c1 and a volatile d1: a1 owns partition 0
// with b1 and d1 in sync, and the disks of a1 and b1 are named; c1 owns partition 1
// alone and its disk is named; d1 owns partition 2.
func stored(t *testing.T) *roster.Roster {
	t.Helper()
	join := rostertest.Records([]string{"a1", "b1", "c1", "d1"})
	for i := range join[:3] {
		join[i].Durable = true
	}
	r := rostertest.Apply(t, rostertest.Formed(t, 3, roster.DefaultWindow), roster.Change{Join: join})
	r = rostertest.Apply(t, r, roster.Change{Lose: []roster.Loss{
		{0, rostertest.Incarnation("a1"), rostertest.Incarnations([]string{"b1", "d1"})},
		{1, rostertest.Incarnation("c1"), nil}, {2, rostertest.Incarnation("d1"), nil},
	}})
	return rostertest.Apply(t, r, roster.Change{Persist: []roster.PartitionID{0, 1}})
}

// TestDisks: what each change makes of the disks that are named.
func TestDisks(t *testing.T) {
	a, b, c, d := rostertest.Incarnation("a1"), rostertest.Incarnation("b1"), rostertest.Incarnation("c1"),
		rostertest.Incarnation("d1")
	back := rostertest.Record(rostertest.Incarnation("b2"))
	back.Durable = true
	for name, test := range map[string]struct {
		changes []roster.Change
		id      roster.PartitionID
		want    []roster.MemberID
	}{
		"as it is":                    {nil, 0, rostertest.MemberIDs("a1", "b1")},
		"a volatile replica has none": {nil, 2, nil},
		"a dead replica": {[]roster.Change{{Drop: rostertest.Replicas("0b1"),
			Strike: rostertest.MemberIDs("b1")}}, 0, rostertest.MemberIDs("a1")},
		"a replica that is only dropped": {[]roster.Change{{Drop: rostertest.Replicas("0b1")}}, 0,
			rostertest.MemberIDs("a1", "b1")},
		"a replica that leaves": {[]roster.Change{{Remove: []roster.Incarnation{b}}}, 0,
			rostertest.MemberIDs("a1", "b1")},
		"a dead owner": {[]roster.Change{{Take: rostertest.Replicas("0b1"),
			Remove: []roster.Incarnation{a}, Strike: rostertest.MemberIDs("a1")}}, 0, rostertest.MemberIDs("b1")},
		"the last disk in sync": {[]roster.Change{{Take: rostertest.Replicas("0b1")},
			{Drop: rostertest.Replicas("0a1")}, {Take: rostertest.Replicas("0d1"), Remove: []roster.Incarnation{b},
				Strike: rostertest.MemberIDs("b1")}}, 0, rostertest.MemberIDs("a1", "b1")},
		"a loss": {[]roster.Change{{Lose: []roster.Loss{{0, c, nil}}}}, 0,
			rostertest.MemberIDs("a1", "b1")},
		"a loss of dead replicas": {[]roster.Change{{Lose: []roster.Loss{{0, c, nil}},
			Remove: []roster.Incarnation{a, b}, Strike: rostertest.MemberIDs("a1", "b1")}}, 0, rostertest.MemberIDs("a1", "b1")},
		"a loss to one of them": {[]roster.Change{{Lose: []roster.Loss{{0, b, nil}},
			Remove: []roster.Incarnation{a}, Strike: rostertest.MemberIDs("a1")}}, 0, rostertest.MemberIDs("a1", "b1")},
		"one that is in sync still": {[]roster.Change{{Drop: rostertest.Replicas("0d1"),
			Strike: rostertest.MemberIDs("a1", "d1")}}, 0, rostertest.MemberIDs("a1", "b1")},
		"a restart": {[]roster.Change{{Join: []roster.Member{back}}}, 0,
			rostertest.MemberIDs("a1", "b1")},
		"one more replica": {[]roster.Change{{Add: rostertest.Replicas("0c1")},
			{Admit: rostertest.Replicas("0c1")}}, 0, rostertest.MemberIDs("a1", "b1")},
		"one more disk": {[]roster.Change{{Add: rostertest.Replicas("0c1")},
			{Admit: rostertest.Replicas("0c1")}, {Persist: []roster.PartitionID{0}}}, 0, rostertest.MemberIDs("a1", "b1", "c1")},
		"admitted meanwhile": {[]roster.Change{{Add: rostertest.Replicas("0c1")},
			{Admit: rostertest.Replicas("0c1"), Persist: []roster.PartitionID{0}}}, 0, rostertest.MemberIDs("a1", "b1")},
		"a disk in place of another": {[]roster.Change{{Add: rostertest.Replicas("1a1")},
			{Admit: rostertest.Replicas("1a1")}, {Take: rostertest.Replicas("1a1")}, {Drop: rostertest.Replicas("1c1")},
			{Persist: []roster.PartitionID{1}}}, 1, rostertest.MemberIDs("a1")},
		"given up": {[]roster.Change{{Drop: rostertest.Replicas("0b1")},
			{Remove: []roster.Incarnation{b}}, {Forget: rostertest.MemberIDs("b1")}}, 0, rostertest.MemberIDs("a1")},
		"the last one given up": {[]roster.Change{{Lose: []roster.Loss{{1, d, nil}},
			Remove: []roster.Incarnation{c}}, {Forget: rostertest.MemberIDs("c1")}}, 1, nil},
		"another partition's is not struck": {[]roster.Change{{Drop: rostertest.Replicas("0b1"),
			Strike: rostertest.MemberIDs("b1", "c1")}}, 1, rostertest.MemberIDs("c1")},
	} {
		r := stored(t)
		for _, change := range test.changes {
			r = rostertest.Apply(t, r, change)
		}
		if got := r.Partitions[test.id].Disk; !slices.Equal(got, test.want) {
			t.Errorf("%s: the disks of %v are named, want %v", name, got, test.want)
		}
	}
}

// TestDiskRefusals: what may not happen to disks.
func TestDiskRefusals(t *testing.T) {
	gone := rostertest.Apply(t, stored(t), roster.Change{Remove: rostertest.Incarnations([]string{"b1"})})
	for name, test := range map[string]struct {
		change roster.Change
		reason string
	}{
		"no durable replica": {roster.Change{Persist: []roster.PartitionID{2}}, "no durable replica"},
		"no such partition":  {roster.Change{Persist: []roster.PartitionID{3}}, "does not exist"},
		"twice":              {roster.Change{Persist: []roster.PartitionID{0, 0}}, "twice"},
		"and lost": {roster.Change{Persist: []roster.PartitionID{1},
			Lose: []roster.Loss{{1, rostertest.Incarnation("d1"), nil}}}, "is lost"},
		"struck for nothing":      {roster.Change{Strike: rostertest.MemberIDs("a1")}, "no replica leaves"},
		"a member's is given up":  {roster.Change{Forget: rostertest.MemberIDs("a1")}, "it is a member"},
		"an unnamed one given up": {roster.Change{Forget: rostertest.MemberIDs("e1")}, "no partition lists it"},
		"given up twice":          {roster.Change{Forget: rostertest.MemberIDs("b1", "b1")}, "twice"},
	} {
		after, err := gone.Apply(roster.Command{From: gone.Version, Change: &test.change})
		if !errors.Is(err, roster.ErrRefused) || !strings.Contains(err.Error(), test.reason) || after != gone {
			t.Errorf("%s: %v, want a refusal that says %q", name, err, test.reason)
		}
	}
	late := roster.Change{Persist: []roster.PartitionID{0}}
	if _, err := gone.Apply(roster.Command{From: gone.Version - 1, Change: &late}); !errors.Is(err, roster.ErrStale) {
		t.Errorf("disks of an earlier version: %v", err)
	}
}

// TestAwaits counts the partitions that a disk is named for, and those where it is alone.
func TestAwaits(t *testing.T) {
	r := stored(t)
	for name, want := range map[string][2]int{"a1": {1, 0}, "c1": {1, 1}, "d1": {0, 0}} {
		if named, alone := r.Awaits(rostertest.MemberIDs(name)[0]); [2]int{named, alone} != want {
			t.Errorf("%s: %d and %d, want %v", name, named, alone, want)
		}
	}
}
