package partition

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// stored is a grid of a durable a1, b1 and c1 and a volatile d1: a1 owns partition 0
// with b1 and d1 in sync, and the disks of a1 and b1 are named; c1 owns partition 1
// alone and its disk is named; d1 owns partition 2.
func stored(t *testing.T) *Roster {
	t.Helper()
	join := records([]string{"a1", "b1", "c1", "d1"})
	for i := range join[:3] {
		join[i].Durable = true
	}
	r := mustApply(t, formed(t, 3, DefaultWindow), Change{Join: join})
	r = mustApply(t, r, Change{Lose: []Loss{
		{0, incarnation("a1"), incarnations([]string{"b1", "d1"})}, {1, incarnation("c1"), nil}, {2, incarnation("d1"), nil},
	}})
	return mustApply(t, r, Change{Persist: []ID{0, 1}})
}

// TestDisks: what each change makes of the disks that are named.
func TestDisks(t *testing.T) {
	a, b, c, d := incarnation("a1"), incarnation("b1"), incarnation("c1"), incarnation("d1")
	back := record(incarnation("b2"))
	back.Durable = true
	for name, test := range map[string]struct {
		changes []Change
		id      ID
		want    []MemberID
	}{
		"as it is":                          {nil, 0, memberIDs("a1", "b1")},
		"a volatile replica has none":       {nil, 2, nil},
		"a dead replica":                    {[]Change{{Drop: replicas("0b1"), Strike: memberIDs("b1")}}, 0, memberIDs("a1")},
		"a replica that is only dropped":    {[]Change{{Drop: replicas("0b1")}}, 0, memberIDs("a1", "b1")},
		"a replica that leaves":             {[]Change{{Remove: []Incarnation{b}}}, 0, memberIDs("a1", "b1")},
		"a dead owner":                      {[]Change{{Take: replicas("0b1"), Remove: []Incarnation{a}, Strike: memberIDs("a1")}}, 0, memberIDs("b1")},
		"the last disk in sync":             {[]Change{{Take: replicas("0b1")}, {Drop: replicas("0a1")}, {Take: replicas("0d1"), Remove: []Incarnation{b}, Strike: memberIDs("b1")}}, 0, memberIDs("a1", "b1")},
		"a loss":                            {[]Change{{Lose: []Loss{{0, c, nil}}}}, 0, memberIDs("a1", "b1")},
		"a loss of dead replicas":           {[]Change{{Lose: []Loss{{0, c, nil}}, Remove: []Incarnation{a, b}, Strike: memberIDs("a1", "b1")}}, 0, memberIDs("a1", "b1")},
		"a loss to one of them":             {[]Change{{Lose: []Loss{{0, b, nil}}, Remove: []Incarnation{a}, Strike: memberIDs("a1")}}, 0, memberIDs("a1", "b1")},
		"one that is in sync still":         {[]Change{{Drop: replicas("0d1"), Strike: memberIDs("a1", "d1")}}, 0, memberIDs("a1", "b1")},
		"a restart":                         {[]Change{{Join: []Member{back}}}, 0, memberIDs("a1", "b1")},
		"one more replica":                  {[]Change{{Add: replicas("0c1")}, {Admit: replicas("0c1")}}, 0, memberIDs("a1", "b1")},
		"one more disk":                     {[]Change{{Add: replicas("0c1")}, {Admit: replicas("0c1")}, {Persist: []ID{0}}}, 0, memberIDs("a1", "b1", "c1")},
		"admitted meanwhile":                {[]Change{{Add: replicas("0c1")}, {Admit: replicas("0c1"), Persist: []ID{0}}}, 0, memberIDs("a1", "b1")},
		"a disk in place of another":        {[]Change{{Add: replicas("1a1")}, {Admit: replicas("1a1")}, {Take: replicas("1a1")}, {Drop: replicas("1c1")}, {Persist: []ID{1}}}, 1, memberIDs("a1")},
		"given up":                          {[]Change{{Drop: replicas("0b1")}, {Remove: []Incarnation{b}}, {Forget: memberIDs("b1")}}, 0, memberIDs("a1")},
		"the last one given up":             {[]Change{{Lose: []Loss{{1, d, nil}}, Remove: []Incarnation{c}}, {Forget: memberIDs("c1")}}, 1, nil},
		"another partition's is not struck": {[]Change{{Drop: replicas("0b1"), Strike: memberIDs("b1", "c1")}}, 1, memberIDs("c1")},
	} {
		r := stored(t)
		for _, change := range test.changes {
			r = mustApply(t, r, change)
		}
		if got := r.Partitions[test.id].Disk; !slices.Equal(got, test.want) {
			t.Errorf("%s: the disks of %v are named, want %v", name, got, test.want)
		}
	}
}

// TestDiskRefusals: what may not happen to disks.
func TestDiskRefusals(t *testing.T) {
	gone := mustApply(t, stored(t), Change{Remove: incarnations([]string{"b1"})})
	for name, test := range map[string]struct {
		change Change
		reason string
	}{
		"no durable replica":     {Change{Persist: []ID{2}}, "no durable replica"},
		"no such partition":      {Change{Persist: []ID{3}}, "there is no partition"},
		"twice":                  {Change{Persist: []ID{0, 0}}, "twice"},
		"and lost":               {Change{Persist: []ID{1}, Lose: []Loss{{1, incarnation("d1"), nil}}}, "is lost"},
		"struck for nothing":     {Change{Strike: memberIDs("a1")}, "nothing leaves"},
		"a member's is given up": {Change{Forget: memberIDs("a1")}, "it is a member"},
		"nobody's is given up":   {Change{Forget: memberIDs("e1")}, "no partition names it"},
		"given up twice":         {Change{Forget: memberIDs("b1", "b1")}, "twice"},
	} {
		after, err := gone.Apply(Command{From: gone.Version, Change: &test.change})
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), test.reason) || after != gone {
			t.Errorf("%s: %v, want a refusal that says %q", name, err, test.reason)
		}
	}
	late := Change{Persist: []ID{0}}
	if _, err := gone.Apply(Command{From: gone.Version - 1, Change: &late}); !errors.Is(err, ErrStale) {
		t.Errorf("disks of an earlier version: %v", err)
	}
}

// TestAwaits counts the partitions that a disk is named for, and those where it is alone.
func TestAwaits(t *testing.T) {
	r := stored(t)
	for name, want := range map[string][2]int{"a1": {1, 0}, "c1": {1, 1}, "d1": {0, 0}} {
		if named, alone := r.Awaits(memberIDs(name)[0]); [2]int{named, alone} != want {
			t.Errorf("%s: %d and %d, want %v", name, named, alone, want)
		}
	}
}
