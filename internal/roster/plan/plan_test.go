package plan

import (
	"fmt"
	"slices"
	"testing"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/internal/rostertest"
)

// TestPlanNothing: what leaves the roster as it is gives no command.
func TestPlanNothing(t *testing.T) {
	everything := Sight{Join: rostertest.Records([]string{"a1"}), Gone: rostertest.Incarnations([]string{"b1"}),
		Assign: true}
	if _, found := new(Planner).Plan(&roster.Roster{}, everything); found {
		t.Error("an unformed roster was planned for")
	}
	r := rostertest.Formed(t, 3, roster.DefaultWindow)
	for name, s := range map[string]Sight{
		"no member":      {Assign: true},
		"gone strangers": {Gone: rostertest.Incarnations([]string{"a1"})},
		"joins and gone": {Join: rostertest.Records([]string{"a1"}), Gone: rostertest.Incarnations([]string{"a1"}),
			Assign: true},
		"joins and leaves": {Join: rostertest.Records([]string{"a1"}), Leave: rostertest.Incarnations([]string{"a1"}),
			Assign: true},
		"malformed record": {Join: []roster.Member{{Incarnation: "me"}}, Assign: true},
	} {
		if c, found := new(Planner).Plan(r, s); found {
			t.Errorf("%s: %+v", name, c.Change)
		}
	}
	one := settledGrid(t, 3, "a1")
	pair := settledGrid(t, 1, "a1", "b1")
	pair.Settings.Backups, pair.Partitions[0].InSync = 0, []roster.Incarnation{pair.Partitions[0].Owner}
	pair.Unsettled = rostertest.Incarnations([]string{"a1", "b1"})
	if c, found := new(Planner).Plan(pair, Sight{Gone: pair.Partitions[0].InSync, Leave: pair.Unsettled}); found {
		t.Errorf("the owner is gone and the other leaves: %+v", c.Change)
	}
	for name, s := range map[string]Sight{
		"all gone":      {Gone: rostertest.Incarnations([]string{"a1"})},
		"the last goes": {Leave: rostertest.Incarnations([]string{"a1"})},
		"as it is":      {Join: rostertest.Records([]string{"a1"}), Assign: true},
	} {
		if c, found := new(Planner).Plan(one, s); found {
			t.Errorf("%s: %+v", name, c.Change)
		}
	}
}

// TestPlanLeavesTheWindow: the window stays the one with which the grid was formed, for any
// number of joins.
func TestPlanLeavesTheWindow(t *testing.T) {
	for _, window := range []clustertime.Span{roster.LoneWindow, 5_000, roster.DefaultWindow} {
		r := step(t, rostertest.Formed(t, 3, window), Sight{Join: rostertest.Records([]string{"a1", "b1"}), Assign: true})
		if r.Settings.Window != window {
			t.Errorf("window %d became %d", window, r.Settings.Window)
		}
	}
}

// TestPlanTwins: of two incarnations of one member the lower joins, and of two
// records of one incarnation always the same.
func TestPlanTwins(t *testing.T) {
	r := rostertest.Formed(t, 1, roster.DefaultWindow)
	join := rostertest.Records([]string{"a2", "a1", "a1", "a1", "a1", "a1"})
	join[1].API, join[2].Raft, join[3].Gossip, join[4].Durable = "127.0.0.1:8", "127.0.0.1:8", "127.0.0.1:8", true
	want := join[5]
	for range join {
		join = append(join[1:], join[0])
		if c, _ := new(Planner).Plan(r, Sight{Join: join}); !slices.Equal(c.Change.Join, []roster.Member{want}) {
			t.Errorf("of %v joins %v", join, c.Change.Join)
		}
	}
}

// TestPlanJoinsAtMost: a bounded number of tables are copied at a time, the next
// ones as the first are admitted, and those that wait count as not settled.
func TestPlanJoinsAtMost(t *testing.T) {
	r := settledGrid(t, 150, "a1")
	r = step(t, r, Sight{Join: rostertest.Records([]string{"b1"})})
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
	if r.Settled(rostertest.Incarnation("b1")) || !r.Settled(rostertest.Incarnation("a1")) {
		t.Errorf("unsettled: %v", r.Unsettled)
	}
}

// TestPlanGivesAJoinUp: a join of a replica that is no longer wanted is given up, also if it
// could be admitted.
func TestPlanGivesAJoinUp(t *testing.T) {
	names := []string{"a1", "b1", "c1"}
	r := settledGrid(t, 1, names...)
	at := slices.IndexFunc(rostertest.Incarnations(names),
		func(i roster.Incarnation) bool { return !r.Partitions[0].Keeps(i) })
	r = rostertest.Apply(t, r, roster.Change{Add: rostertest.Replicas("0" + names[at])})
	want := roster.Change{Drop: rostertest.Replicas("0" + names[at])}
	if c, _ := new(Planner).Plan(r, Sight{Held: held(r)}); c.Change == nil || !slices.Equal(c.Change.Drop, want.Drop) ||
		len(c.Change.Admit) > 0 {
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
	others := slices.DeleteFunc(rostertest.Incarnations(names), func(i roster.Incarnation) bool { return i == wanted })
	r.Partitions[0].Owner, r.Partitions[0].InSync = others[0], others
	r = step(t, r, Sight{Silent: []roster.Incarnation{wanted}})
	if p := r.Partitions[0]; p.Owner != others[0] || !slices.Equal(p.InSync, others[:1]) {
		t.Errorf("%+v, want %s alone", p, others[0])
	}
}

// TestPlanSilence: whose owner does not answer is taken over by one that does and
// is in sync. It stays with its owner if there is none, as long as that is not
// confirmed dead.
func TestPlanSilence(t *testing.T) {
	a, b, c := rostertest.Incarnation("a1"), rostertest.Incarnation("b1"), rostertest.Incarnation("c1")
	r := settledGrid(t, 3, "a1", "b1", "c1")
	r.Partitions[0] = roster.Partition{Owner: a, InSync: []roster.Incarnation{a, b}, Term: 1, LostTerm: 1}
	r.Partitions[1] = roster.Partition{Owner: a, InSync: []roster.Incarnation{a}, Joining: b, Term: 1, LostTerm: 1}
	r.Partitions[2] = roster.Partition{Owner: a, InSync: []roster.Incarnation{a, b, c}, Term: 1, LostTerm: 1}
	for name, test := range map[string]struct {
		s    Sight
		take []roster.Replica
		lost []roster.PartitionID
	}{
		"one":            {Sight{Silent: []roster.Incarnation{a, c}}, rostertest.Replicas("0b1", "2b1"), nil},
		"in no hurry":    {Sight{Silent: []roster.Incarnation{a, c}, Patient: true}, rostertest.Replicas("0b1", "2b1"), nil},
		"and the backup": {Sight{Silent: []roster.Incarnation{a, b}}, rostertest.Replicas("2c1"), nil},
		"all":            {Sight{Silent: []roster.Incarnation{a, b, c}}, nil, nil},
		"gone": {Sight{Gone: []roster.Incarnation{a}, Silent: []roster.Incarnation{c}},
			rostertest.Replicas("0b1", "2b1"), []roster.PartitionID{1}},
		"gone, silent": {Sight{Gone: []roster.Incarnation{a}, Silent: []roster.Incarnation{b}},
			rostertest.Replicas("0b1", "2c1"), []roster.PartitionID{1}},
	} {
		command, found := new(Planner).Plan(r, test.s)
		if !found {
			t.Fatalf("%s: nothing to do", name)
		}
		var lost []roster.PartitionID
		for _, l := range command.Change.Lose {
			lost = append(lost, l.Partition)
		}
		if !slices.Equal(command.Change.Take, test.take) || !slices.Equal(lost, test.lost) {
			t.Errorf("%s: take %v, lose %v", name, command.Change.Take, lost)
		}
		rostertest.Apply(t, r, *command.Change)
	}
}

// TestPlanPrefersThePlaced: of several replicas that could take over, the one that
// is placed first does.
func TestPlanPrefersThePlaced(t *testing.T) {
	names := []string{"a1", "b1", "c1", "d1"}
	r := settledGrid(t, 40, names...)
	all := rostertest.Incarnations(names)
	placed := spread(oneZone([]roster.MemberID{all[0].Member(), all[1].Member(), all[2].Member(), all[3].Member()}), 40, 1)
	for id := range r.Partitions {
		r.Partitions[id] = roster.Partition{Owner: all[0], InSync: all, Term: 1, LostTerm: 1}
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
	i := slices.IndexFunc(rostertest.Incarnations(names),
		func(i roster.Incarnation) bool { return !slices.Contains(want, i) })
	other, owner := rostertest.Incarnation(names[i]), r.Partitions[0].Owner
	set := slices.Sorted(slices.Values([]roster.Incarnation{owner, other}))
	r.Partitions[0].InSync = set
	silent := slices.DeleteFunc(slices.Clone(want), func(i roster.Incarnation) bool { return i == owner })
	r = step(t, r, Sight{Silent: silent})
	if !slices.Equal(r.Partitions[0].InSync, set) {
		t.Errorf("in sync %v, before %v", r.Partitions[0].InSync, set)
	}
}

// TestPlanKeepsBackupsOfTheGone: an answering replica that is no longer wanted stays while
// another one is removed in the same change, since the wanted one is silent.
func TestPlanKeepsBackupsOfTheGone(t *testing.T) {
	r := settledGrid(t, 1, "a1", "b1", "c1", "d1")
	set := rostertest.Incarnations([]string{"a1", "b1", "d1"})
	r.Partitions[0].Owner, r.Partitions[0].InSync = set[2], set
	r = step(t, r, Sight{Gone: set[:1], Leave: set[1:2], Silent: rostertest.Incarnations([]string{"c1"})})
	if p := r.Partitions[0]; !slices.Equal(p.InSync, set[1:]) {
		t.Errorf("in sync %v, want %v", p.InSync, set[1:])
	}
}

// TestPlanKeepsThePlacement: the ring is asked again when members or settings
// are others, and only then.
func TestPlanKeepsThePlacement(t *testing.T) {
	var p Planner
	r := settledGrid(t, 5, "a1", "b1")
	p.Plan(r, Sight{})
	first := p.placed
	p.Plan(rostertest.Apply(t, r, roster.Change{Window: 20_000}), Sight{})
	if &p.placed[0] != &first[0] {
		t.Error("placed again, for nothing")
	}
	for _, other := range []*roster.Roster{
		settledGrid(t, 6, "a1", "b1"), settledGrid(t, 6, "a1", "c1"), settledGrid(t, 6, "a2", "c1"),
		settledGrid(t, 5, "a1", "b1"),
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

// TestPlanAgainOnNews: nothing was due, and something is as soon as the leader sees it.
func TestPlanAgainOnNews(t *testing.T) {
	var p Planner
	r := settledGrid(t, 5, "a1", "b1")
	for _, gone := range [][]roster.Incarnation{nil, nil, r.Partitions[0].InSync[:1], nil} {
		if c, found := p.Plan(r, Sight{Gone: gone}); found != (gone != nil) {
			t.Errorf("gone %v: due %v, %+v", gone, found, c.Change)
		}
	}
}

// settledGrid gives a grid at rest, of one backup.
func settledGrid(t *testing.T, partitions int, names ...string) *roster.Roster {
	t.Helper()
	r := rostertest.Formed(t, partitions, roster.DefaultWindow)
	r = step(t, rostertest.Raise(t, r, 5_000), Sight{Join: rostertest.Records(names), Assign: true})
	r = rostertest.Raise(t, r, clustertime.Tick(5_000).Add(roster.DefaultWindow))
	if c, found := new(Planner).Plan(r, Sight{}); found || len(r.Unsettled) > 0 {
		t.Fatalf("not at rest: %+v", c.Change)
	}
	return r
}

// held says of all who join that they hold their tables.
func held(r *roster.Roster) []roster.Holding {
	var out []roster.Holding
	for id, p := range r.Partitions {
		if p.Joining != "" {
			out = append(out, roster.Holding{Replica: roster.Replica{Partition: roster.PartitionID(id), Member: p.Joining},
				Version: r.Version})
		}
	}
	return out
}

func step(t *testing.T, r *roster.Roster, s Sight) *roster.Roster {
	t.Helper()
	c, found := new(Planner).Plan(r, s)
	if !found {
		t.Fatal("nothing to do")
	}
	return rostertest.Apply(t, r, *c.Change)
}

// ExamplePlanner_Plan forms a grid of one member.
func ExamplePlanner_Plan() {
	form := roster.Form{
		Grid:     roster.GridID{1},
		Settings: roster.Settings{Name: "snowgrid", Partitions: roster.DefaultPartitions, Window: roster.DefaultWindow},
		Ceiling:  1_800_000_000_000,
	}
	r, _ := new(roster.Roster).Apply(roster.Command{Form: &form})
	me := roster.Member{Incarnation: "0123456789abcdef-00000000000000a1"}
	command, _ := new(Planner).Plan(r, Sight{Join: []roster.Member{me}, Assign: true})
	r, err := r.Apply(command)
	fmt.Println(err, r.Version, len(r.Owned(me.Incarnation)), r.Partitions[0].Floor)

	_, err = r.Apply(command)
	fmt.Println(err)
	// Output:
	// <nil> 2 271 1800000000000
	// roster: command is from another roster version: computed from 1, now 2
}
