package partition

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// checkDisks says once more whose disks a change names (D3, D4, D10).
func checkDisks(t *rapid.T, before, next *Roster, c Change) {
	for at, old := range before.Partitions {
		id, p := ID(at), next.Partitions[at]
		isLost := slices.ContainsFunc(c.Lose, func(l Loss) bool { return l.Partition == id })
		want := slices.Clone(old.Disk)
		if slices.Contains(c.Persist, id) {
			if want = nil; isLost {
				t.Fatalf("partition %d is lost and its disks are named: %+v", id, c)
			}
			for _, i := range old.InSync {
				if m, _ := before.Member(i); m.Durable {
					want = append(want, i.Member())
				}
			}
			if len(want) == 0 {
				t.Fatalf("no disk is left for partition %d by %+v", id, c)
			}
		}
		var members, were []MemberID
		for _, i := range p.InSync {
			members = append(members, i.Member())
		}
		for _, i := range old.InSync {
			were = append(were, i.Member())
		}
		struck := slices.DeleteFunc(slices.Clone(want), func(m MemberID) bool {
			return slices.Contains(c.Strike, m) && slices.Contains(were, m) && !slices.Contains(members, m)
		})
		if !isLost && slices.ContainsFunc(struck, func(m MemberID) bool { return slices.Contains(members, m) }) {
			want = struck
		}
		want = slices.DeleteFunc(want, func(m MemberID) bool { return slices.Contains(c.Forget, m) })
		slices.Sort(want)
		if !slices.Equal(want, p.Disk) {
			t.Fatalf("%+v of\n%+v named the disks %v, want %v", c, old, p.Disk, want)
		}
	}
}

func memberIDs(names ...string) []MemberID {
	var out []MemberID
	for _, name := range names {
		out = append(out, incarnation(name).Member())
	}
	return out
}

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

// TestPlanDisks: the plan names disks as their owners say at this version and at no
// other, and strikes those of the dead.
func TestPlanDisks(t *testing.T) {
	join := records([]string{"a1", "b1"})
	join[0].Durable, join[1].Durable = true, true
	r := step(t, mustRaise(t, formed(t, 1, DefaultWindow), 5_000), Sight{Join: join, Assign: true})
	r = mustRaise(t, r, 5_000+DefaultWindow)
	if c, found := new(Planner).Plan(r, Sight{Persisted: []Persisted{{0, r.Version - 1}, {7, r.Version}}}); found {
		t.Errorf("disks of an earlier version, or of no partition: %+v", c.Change)
	}
	named := step(t, r, Sight{Persisted: []Persisted{{0, r.Version}}, Patient: true})
	if !slices.Equal(named.Partitions[0].Disk, memberIDs("a1", "b1")) {
		t.Fatalf("the disks of %v are named", named.Partitions[0].Disk)
	}
	if c, found := new(Planner).Plan(named, Sight{Persisted: []Persisted{{0, named.Version}}}); found {
		t.Errorf("they are named already: %+v", c.Change)
	}
	owner := named.Partitions[0].Owner
	other := slices.DeleteFunc(incarnations([]string{"a1", "b1"}), func(i Incarnation) bool { return i == owner })[0]
	for name, s := range map[string]Sight{"silent": {Silent: []Incarnation{other}}, "gone": {Gone: []Incarnation{other}}} {
		if after := step(t, named, s); !slices.Equal(after.Partitions[0].Disk, []MemberID{owner.Member()}) {
			t.Errorf("%s: the disks of %v are named", name, after.Partitions[0].Disk)
		}
	}
	if after := step(t, named, Sight{Leave: []Incarnation{other}}); !slices.Equal(after.Partitions[0].Disk, named.Partitions[0].Disk) {
		t.Errorf("after an orderly leave the disks of %v are named", after.Partitions[0].Disk)
	}
}

// TestPlanKeepsADisk: a partition that moves away from the only named disk leaves it when
// the new replica's disk is named, and not before (D4).
func TestPlanKeepsADisk(t *testing.T) {
	join := records([]string{"a1"})
	join[0].Durable = true
	form := Form{Grid: GridID{1}, Settings: Settings{Name: "g", Partitions: 1, Window: DefaultWindow}}
	r, _ := new(Roster).Apply(Command{Form: &form})
	r = step(t, mustRaise(t, r, 5_000), Sight{Join: join, Assign: true})
	r = mustRaise(t, step(t, r, Sight{Persisted: []Persisted{{0, r.Version}}}), 5_000+DefaultWindow)
	comes := record(incarnation("b1"))
	comes.Durable = true
	leave := Sight{Join: []Member{comes}, Leave: incarnations([]string{"a1"})}
	r = step(t, r, leave)
	for range 3 { // add, admit, take
		leave.Held = held(r)
		c, found := new(Planner).Plan(r, leave)
		if !found {
			break
		}
		r = mustApply(t, r, *c.Change)
	}
	want := incarnations([]string{"a1", "b1"})
	if p := r.Partitions[0]; p.Owner != want[1] || !slices.Equal(p.InSync, want) {
		t.Fatalf("before the new disk is named: %+v", p)
	}
	if c, found := new(Planner).Plan(r, leave); found {
		t.Fatalf("more is done: %+v", c.Change)
	}
	leave.Persisted = []Persisted{{0, r.Version}}
	r = step(t, r, leave)
	if p := r.Partitions[0]; !slices.Equal(p.Disk, memberIDs("a1", "b1")) {
		t.Fatalf("it is not named: %+v", p)
	}
	if r = step(t, r, Sight{Leave: leave.Leave}); len(r.Partitions[0].InSync) != 1 {
		t.Errorf("after it the old replica stays: %+v", r.Partitions[0])
	}
}

// TestPlaceDurably: wherever the grid has a durable member each partition has one, and
// all else stays as the ring has it (D11).
func TestPlaceDurably(t *testing.T) {
	members := memberIDs("a1", "b1", "c1", "d1", "e1")
	for copies := range 3 {
		ring := Place(members, 50, copies)
		for _, durable := range [][]MemberID{nil, members, members[1:2], members[1:4]} {
			for id, replicas := range placeDurably(members, durable, 50, copies) {
				has := slices.ContainsFunc(replicas, func(m MemberID) bool { return slices.Contains(durable, m) })
				had := slices.ContainsFunc(ring[id], func(m MemberID) bool { return slices.Contains(durable, m) })
				unique := slices.Compact(slices.Sorted(slices.Values(replicas)))
				if has != (len(durable) > 0) || len(unique) != len(ring[id]) || had && !reflect.DeepEqual(replicas, ring[id]) ||
					!slices.Equal(replicas[:copies], ring[id][:copies]) {
					t.Fatalf("partition %d of %v with %v durable: %v", id, ring[id], durable, replicas)
				}
			}
		}
	}
}
