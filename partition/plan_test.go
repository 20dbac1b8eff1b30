package partition

import (
	"fmt"
	"slices"
	"testing"
)

// TestPlanNothing: what leaves the roster as it is gives no command.
func TestPlanNothing(t *testing.T) {
	everything := Sight{Join: records([]string{"a1"}), Gone: incarnations([]string{"b1"}), Assign: true}
	if _, found := new(Planner).Plan(&Roster{}, everything); found {
		t.Error("an unformed roster was planned for")
	}
	r := formed(t, 3, DefaultWindow)
	for name, s := range map[string]Sight{
		"nobody":           {Assign: true},
		"gone strangers":   {Gone: incarnations([]string{"a1"})},
		"joins and gone":   {Join: records([]string{"a1"}), Gone: incarnations([]string{"a1"}), Assign: true},
		"joins and leaves": {Join: records([]string{"a1"}), Leave: incarnations([]string{"a1"}), Assign: true},
		"malformed record": {Join: []Member{{Incarnation: "me"}}, Assign: true},
	} {
		if c, found := new(Planner).Plan(r, s); found {
			t.Errorf("%s: %+v", name, c.Change)
		}
	}
	one := settledGrid(t, 3, "a1")
	pair := settledGrid(t, 1, "a1", "b1")
	pair.Settings.Backups, pair.Partitions[0].InSync = 0, []Incarnation{pair.Partitions[0].Owner}
	pair.Unsettled = incarnations([]string{"a1", "b1"})
	if c, found := new(Planner).Plan(pair, Sight{Gone: pair.Partitions[0].InSync, Leave: pair.Unsettled}); found {
		t.Errorf("the owner is gone and the other leaves: %+v", c.Change)
	}
	for name, s := range map[string]Sight{
		"all gone":      {Gone: incarnations([]string{"a1"})},
		"the last goes": {Leave: incarnations([]string{"a1"})},
		"as it is":      {Join: records([]string{"a1"}), Assign: true},
	} {
		if c, found := new(Planner).Plan(one, s); found {
			t.Errorf("%s: %+v", name, c.Change)
		}
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

// TestPlanTwins: of two incarnations of one member the lower joins, and of two
// records of one incarnation always the same.
func TestPlanTwins(t *testing.T) {
	r := formed(t, 1, DefaultWindow)
	join := records([]string{"a2", "a1", "a1", "a1", "a1", "a1"})
	join[1].API, join[2].Raft, join[3].Gossip, join[4].Durable = "127.0.0.1:8", "127.0.0.1:8", "127.0.0.1:8", true
	want := join[5]
	for range join {
		join = append(join[1:], join[0])
		if c, _ := new(Planner).Plan(r, Sight{Join: join}); !slices.Equal(c.Change.Join, []Member{want}) {
			t.Errorf("of %v joins %v", join, c.Change.Join)
		}
	}
}

// TestPlanJoinsAtMost: a bounded number of tables are copied at a time, the next
// ones as the first are admitted, and those that wait count as not settled.
func TestPlanJoinsAtMost(t *testing.T) {
	r := settledGrid(t, 150, "a1")
	r = step(t, r, Sight{Join: records([]string{"b1"})})
	if got := r.Joining(); got != maxJoining {
		t.Fatalf("%d join", got)
	}
	if c, found := new(Planner).Plan(r, Sight{}); found {
		t.Fatalf("more is done while they join: %+v", c.Change)
	}
	s := Sight{Held: held(r)[:10]}
	r = step(t, r, s)
	if got := r.Joining(); got != maxJoining {
		t.Errorf("%d join after ten were admitted", got)
	}
	if r.Settled(incarnation("b1")) || !r.Settled(incarnation("a1")) {
		t.Errorf("unsettled: %v", r.Unsettled)
	}
}

// TestPlanGivesAJoinUp: a join of a replica that is not wanted any more is given
// up, also if it could be admitted.
func TestPlanGivesAJoinUp(t *testing.T) {
	names := []string{"a1", "b1", "c1"}
	r := settledGrid(t, 1, names...)
	at := slices.IndexFunc(incarnations(names), func(i Incarnation) bool { return !r.Partitions[0].Keeps(i) })
	r = mustApply(t, r, Change{Add: replicas("0" + names[at])})
	want := Change{Drop: replicas("0" + names[at])}
	if c, _ := new(Planner).Plan(r, Sight{Held: held(r)}); c.Change == nil || !slices.Equal(c.Change.Drop, want.Drop) || len(c.Change.Admit) > 0 {
		t.Errorf("planned %+v, want %+v", c.Change, want)
	}
}

// TestPlanKeepsTheOwner: an owner that the ring does not name is not dropped while
// the one it names is silent; a surplus replica is.
func TestPlanKeepsTheOwner(t *testing.T) {
	names := []string{"a1", "b1", "c1"}
	r := settledGrid(t, 1, names...)
	r.Settings.Backups = 0
	wanted := r.Partitions[0].Owner
	others := slices.DeleteFunc(incarnations(names), func(i Incarnation) bool { return i == wanted })
	r.Partitions[0].Owner, r.Partitions[0].InSync = others[0], others
	r = step(t, r, Sight{Silent: []Incarnation{wanted}})
	if p := r.Partitions[0]; p.Owner != others[0] || !slices.Equal(p.InSync, others[:1]) {
		t.Errorf("%+v, want %s alone", p, others[0])
	}
}

// TestPlanSilence: whose owner does not answer is taken over by one that does and
// is in sync. It stays with its owner if there is none, as long as that is not
// confirmed dead.
func TestPlanSilence(t *testing.T) {
	a, b, c := incarnation("a1"), incarnation("b1"), incarnation("c1")
	r := settledGrid(t, 3, "a1", "b1", "c1")
	r.Partitions[0] = Partition{Owner: a, InSync: []Incarnation{a, b}, Term: 1, LostTerm: 1}
	r.Partitions[1] = Partition{Owner: a, InSync: []Incarnation{a}, Joining: b, Term: 1, LostTerm: 1}
	r.Partitions[2] = Partition{Owner: a, InSync: []Incarnation{a, b, c}, Term: 1, LostTerm: 1}
	for name, test := range map[string]struct {
		s    Sight
		take []Replica
		lost []ID
	}{
		"one":            {Sight{Silent: []Incarnation{a, c}}, replicas("0b1", "2b1"), nil},
		"in no hurry":    {Sight{Silent: []Incarnation{a, c}, Patient: true}, replicas("0b1", "2b1"), nil},
		"and the backup": {Sight{Silent: []Incarnation{a, b}}, replicas("2c1"), nil},
		"all":            {Sight{Silent: []Incarnation{a, b, c}}, nil, nil},
		"gone":           {Sight{Gone: []Incarnation{a}, Silent: []Incarnation{c}}, replicas("0b1", "2b1"), []ID{1}},
		"gone, silent":   {Sight{Gone: []Incarnation{a}, Silent: []Incarnation{b}}, replicas("0b1", "2c1"), []ID{1}},
	} {
		command, found := new(Planner).Plan(r, test.s)
		if !found {
			t.Fatalf("%s: nothing to do", name)
		}
		var lost []ID
		for _, l := range command.Change.Lose {
			lost = append(lost, l.Partition)
		}
		if !slices.Equal(command.Change.Take, test.take) || !slices.Equal(lost, test.lost) {
			t.Errorf("%s: take %v, lose %v", name, command.Change.Take, lost)
		}
		mustApply(t, r, *command.Change)
	}
}

// TestPlanPrefersTheRing: of several replicas that could take over, the one that
// the ring names first does.
func TestPlanPrefersTheRing(t *testing.T) {
	names := []string{"a1", "b1", "c1", "d1"}
	r := settledGrid(t, 40, names...)
	all := incarnations(names)
	placed := Place([]MemberID{all[0].Member(), all[1].Member(), all[2].Member(), all[3].Member()}, 40, 1)
	for id := range r.Partitions {
		r.Partitions[id] = Partition{Owner: all[0], InSync: all, Term: 1, LostTerm: 1}
	}
	r = step(t, r, Sight{Silent: all[:1]})
	for id, p := range r.Partitions {
		want := placed[id][0]
		if want == all[0].Member() {
			want = placed[id][1]
		}
		if p.Owner.Member() != want {
			t.Errorf("partition %d went to %s, want %s", id, p.Owner, want)
		}
	}
}

// TestPlanKeepsBackups: a replica that answers is kept as long as one that is
// wanted in its place is silent.
func TestPlanKeepsBackups(t *testing.T) {
	names := []string{"a1", "b1", "c1"}
	r := settledGrid(t, 1, names...)
	want := r.Partitions[0].InSync
	i := slices.IndexFunc(incarnations(names), func(i Incarnation) bool { return !slices.Contains(want, i) })
	other, owner := incarnation(names[i]), r.Partitions[0].Owner
	set := slices.Sorted(slices.Values([]Incarnation{owner, other}))
	r.Partitions[0].InSync = set
	silent := slices.DeleteFunc(slices.Clone(want), func(i Incarnation) bool { return i == owner })
	r = step(t, r, Sight{Silent: silent})
	if !slices.Equal(r.Partitions[0].InSync, set) {
		t.Errorf("in sync %v, before %v", r.Partitions[0].InSync, set)
	}
}

// TestPlanKeepsThePlacement: the ring is asked again when members or settings
// are others, and only then.
func TestPlanKeepsThePlacement(t *testing.T) {
	var p Planner
	r := settledGrid(t, 5, "a1", "b1")
	p.Plan(r, Sight{})
	first := p.placed
	p.Plan(mustApply(t, r, Change{Window: 20_000}), Sight{})
	if &p.placed[0] != &first[0] {
		t.Error("placed again, for nothing")
	}
	for _, other := range []*Roster{
		settledGrid(t, 6, "a1", "b1"), settledGrid(t, 6, "a1", "c1"), settledGrid(t, 6, "a2", "c1"), settledGrid(t, 5, "a1", "b1"),
	} {
		if c, found := p.Plan(other, Sight{}); found || len(p.placed) != len(other.Partitions) {
			t.Errorf("planned from an old placement of %d: %+v", len(p.placed), c.Change)
		}
	}
	r.Settings.Backups = 0
	if c, found := p.Plan(r, Sight{}); !found || len(c.Change.Drop) != 5 {
		t.Errorf("fewer backups are wanted: %+v", c.Change)
	}
}

// settledGrid gives a grid at rest, of one backup.
func settledGrid(t *testing.T, partitions int, names ...string) *Roster {
	t.Helper()
	r := formed(t, partitions, DefaultWindow)
	r = step(t, mustRaise(t, r, 5_000), Sight{Join: records(names), Assign: true})
	r = mustRaise(t, r, 5_000+DefaultWindow)
	if c, found := new(Planner).Plan(r, Sight{}); found || len(r.Unsettled) > 0 {
		t.Fatalf("not at rest: %+v", c.Change)
	}
	return r
}

// held says of all who join that they hold their tables.
func held(r *Roster) []Holding {
	var out []Holding
	for id, p := range r.Partitions {
		if p.Joining != "" {
			out = append(out, Holding{Replica{ID(id), p.Joining}, r.Version})
		}
	}
	return out
}

func step(t *testing.T, r *Roster, s Sight) *Roster {
	t.Helper()
	c, found := new(Planner).Plan(r, s)
	if !found {
		t.Fatal("nothing to do")
	}
	return mustApply(t, r, *c.Change)
}

// ExamplePlanner_Plan forms a grid of one member.
func ExamplePlanner_Plan() {
	form := Form{
		Grid:     GridID{1},
		Settings: Settings{Name: "snowgrid", Partitions: DefaultPartitions, Window: DefaultWindow},
		Ceiling:  1_800_000_000_000,
	}
	r, _ := new(Roster).Apply(Command{Form: &form})
	me := Member{Incarnation: "0123456789abcdef-00000000000000a1"}
	command, _ := new(Planner).Plan(r, Sight{Join: []Member{me}, Assign: true})
	r, err := r.Apply(command)
	fmt.Println(err, r.Version, len(r.Owned(me.Incarnation)), r.Partitions[0].Floor)

	_, err = r.Apply(command)
	fmt.Println(err)
	// Output:
	// <nil> 2 271 1800000000000
	// partition: command is from another roster version: computed from 1, now 2
}
