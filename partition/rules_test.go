package partition

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// lived is a grid of four members and a few versions, to try the rules on:
//
//	0: a1 owns, b1 is in sync, c1 joins
//	1: a1 owns alone
//	2: nobody owns
func lived(t *testing.T) *Roster {
	t.Helper()
	r := formed(t, 3, DefaultWindow)
	r = mustApply(t, r, Change{Join: records([]string{"a1", "b1", "c1", "d1"})})
	r = mustApply(t, r, Change{
		Lose:   []Loss{{Partition: 0, Owner: incarnation("a1"), With: incarnations([]string{"b1"})}, {Partition: 1, Owner: incarnation("a1")}},
		Settle: incarnations([]string{"a1", "b1"}),
	})
	r = mustRaise(t, mustApply(t, r, Change{Add: replicas("0c1")}), 100_000)
	return r
}

// TestMoves: what each move makes of the partition it is about, and that it
// leaves the others alone.
func TestMoves(t *testing.T) {
	a, b, c, d := incarnation("a1"), incarnation("b1"), incarnation("c1"), incarnation("d1")
	const ceiling = 115_000
	for _, test := range []struct {
		name   string
		change Change
		id     ID
		want   Partition
	}{
		{
			"take keeps the loss and the join", Change{Take: replicas("0b1")}, 0,
			Partition{Owner: b, InSync: []Incarnation{a, b}, Joining: c, Term: 5, Floor: ceiling, LostTerm: 3},
		},
		{
			"take leaves out who is removed", Change{Take: replicas("0b1"), Remove: []Incarnation{a}, Lose: []Loss{{1, d, nil}}}, 0,
			Partition{Owner: b, InSync: []Incarnation{b}, Joining: c, Term: 5, Floor: ceiling, LostTerm: 3},
		},
		{
			"lose forgets the replicas", Change{Lose: []Loss{{0, d, []Incarnation{c, a}}}}, 0,
			Partition{Owner: d, InSync: []Incarnation{a, c, d}, Term: 5, Floor: ceiling, LostTerm: 5},
		},
		{
			"lose starts above granted", Change{Lose: []Loss{{2, d, nil}}, Granted: ceiling + 7}, 2,
			Partition{Owner: d, InSync: []Incarnation{d}, Term: 5, Floor: ceiling + 7, LostTerm: 5},
		},
		{
			"add keeps the term", Change{Add: replicas("1d1")}, 1,
			Partition{Owner: a, InSync: []Incarnation{a}, Joining: d, Term: 3, LostTerm: 3},
		},
		{
			"admit keeps the term", Change{Admit: replicas("0c1")}, 0,
			Partition{Owner: a, InSync: []Incarnation{a, b, c}, Term: 3, LostTerm: 3},
		},
		{
			"drop keeps the term", Change{Drop: replicas("0b1")}, 0,
			Partition{Owner: a, InSync: []Incarnation{a}, Joining: c, Term: 3, LostTerm: 3},
		},
		{
			"drop gives a join up", Change{Drop: replicas("0c1")}, 0,
			Partition{Owner: a, InSync: []Incarnation{a, b}, Term: 3, LostTerm: 3},
		},
		{
			"remove takes out and keeps the term", Change{Remove: []Incarnation{b, c}}, 0,
			Partition{Owner: a, InSync: []Incarnation{a}, Term: 3, LostTerm: 3},
		},
		{
			"a newer process takes the older out", Change{Join: records([]string{"b2", "c2"})}, 0,
			Partition{Owner: a, InSync: []Incarnation{a}, Term: 3, LostTerm: 3},
		},
		{
			"a newer process of the owner", Change{Join: records([]string{"a2"}), Take: replicas("0b1"), Lose: []Loss{{1, incarnation("a2"), nil}}}, 1,
			Partition{Owner: incarnation("a2"), InSync: incarnations([]string{"a2"}), Term: 5, Floor: ceiling, LostTerm: 5},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := lived(t)
			after := mustApply(t, before, test.change)
			if got := after.Partitions[test.id]; !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
			if len(test.change.Join)+len(test.change.Remove) == 0 {
				checkOthers(t, before, after, test.id)
			}
		})
	}
}

// checkOthers wants all partitions but one as they were.
func checkOthers(t *testing.T, before, after *Roster, but ID) {
	t.Helper()
	for id, p := range after.Partitions {
		if ID(id) != but && !reflect.DeepEqual(p, before.Partitions[id]) {
			t.Errorf("partition %d became %+v", id, p)
		}
	}
}

// TestRefusals: what breaks a rule is refused as a whole, for the reason named.
func TestRefusals(t *testing.T) {
	a, b := incarnation("a1"), incarnation("b1")
	loss := func(id ID, owner string, with ...string) Change {
		return Change{Lose: []Loss{{id, incarnation(owner), incarnations(with)}}}
	}
	for name, test := range map[string]struct {
		change Change
		reason string
	}{
		"nothing":                   {Change{}, "changes nothing"},
		"take by one that joins":    {Change{Take: replicas("0c1")}, "not in sync"},
		"take by a stranger":        {Change{Take: replicas("0e1")}, "no member"},
		"take by another":           {Change{Take: replicas("0d1")}, "not in sync"},
		"take by the owner":         {Change{Take: replicas("0a1")}, "its owner"},
		"take by one that goes":     {Change{Take: replicas("0b1"), Remove: []Incarnation{b}}, "no member"},
		"take by one that is newer": {Change{Take: replicas("0b2"), Join: records([]string{"b2"})}, "not in sync"},
		"take of what nobody owns":  {Change{Take: replicas("2a1")}, "not in sync"},
		"take and drop":             {Change{Take: replicas("0b1"), Drop: replicas("0c1")}, "moved twice"},
		"take of no partition":      {Change{Take: replicas("3a1")}, "no partition 3"},
		"lose to a stranger":        {loss(0, "e1"), "no member"},
		"lose with a stranger":      {loss(0, "a1", "e1"), "no member"},
		"lose to one that goes":     {both(loss(1, "b1"), Change{Remove: []Incarnation{b}}), "no member"},
		"lose with the owner":       {loss(0, "a1", "a1"), "twice"},
		"lose with one twice":       {loss(0, "a1", "b1", "b1"), "twice"},
		"lose twice":                {both(loss(1, "a1"), loss(1, "b1")), "moved twice"},
		"add to nobody":             {Change{Add: replicas("2a1")}, "no owner"},
		"add who is in sync":        {Change{Add: replicas("0b1")}, "already"},
		"add the owner":             {Change{Add: replicas("0a1")}, "already"},
		"add who joins":             {Change{Add: replicas("0c1")}, "already"},
		"add a stranger":            {Change{Add: replicas("0e1")}, "no member"},
		"add and admit":             {Change{Add: replicas("1d1"), Admit: replicas("1d1")}, "moved twice"},
		"admit who does not join":   {Change{Admit: replicas("0d1")}, "does not join"},
		"admit who is in sync":      {Change{Admit: replicas("0b1")}, "does not join"},
		"admit to another":          {Change{Admit: replicas("1c1")}, "does not join"},
		"admit one that goes":       {Change{Admit: replicas("0c1"), Remove: incarnations([]string{"c1"})}, "no member"},
		"admit one that is newer":   {Change{Admit: replicas("0c2"), Join: records([]string{"c2"})}, "does not join"},
		"drop the owner":            {Change{Drop: replicas("0a1")}, "its owner"},
		"drop the last":             {Change{Drop: replicas("1a1")}, "its owner"},
		"drop no replica":           {Change{Drop: replicas("0d1")}, "not its replica"},
		"remove an owner":           {Change{Remove: []Incarnation{a}}, "given to nobody"},
		"a newer owner":             {Change{Join: records([]string{"a2"})}, "given to nobody"},
		"a newer owner, one given":  {Change{Join: records([]string{"a2"}), Take: replicas("0b1")}, "given to nobody"},
		"doubt who is unsettled":    {Change{Doubt: incarnations([]string{"c1"})}, "unsettled"},
		"doubt twice":               {Change{Doubt: []Incarnation{a, a}}, "unsettled"},
		"doubt a stranger":          {Change{Doubt: incarnations([]string{"e1"})}, "no member"},
		"settle who is settled":     {Change{Settle: []Incarnation{a}}, "not unsettled"},
		"settle a stranger":         {Change{Settle: incarnations([]string{"e1"})}, "not unsettled"},
		"granted before 1970":       {Change{Granted: -1}, "no time"},
		"granted after 9999":        {Change{Granted: Latest + 1}, "no time"},
	} {
		t.Run(name, func(t *testing.T) {
			r := lived(t)
			kept := deepCopy(r)
			next, err := r.Apply(Command{From: r.Version, Change: &test.change})
			if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), test.reason) {
				t.Errorf("%v, want %q", err, test.reason)
			}
			if next != r || !reflect.DeepEqual(kept, r) {
				t.Error("the roster is another")
			}
		})
	}
}

// TestAdmissionIsNeverRebased: an admission that was computed before another
// change does not count after it, though the member still joins (R5).
func TestAdmissionIsNeverRebased(t *testing.T) {
	r := lived(t)
	admit := Command{From: r.Version, Change: &Change{Admit: replicas("0c1")}}
	if raised := mustRaise(t, r, 200_000); raised.Version != r.Version {
		t.Errorf("a raise made version %d of %d", raised.Version, r.Version)
	} else if _, err := raised.Apply(admit); err != nil {
		t.Errorf("after a raise: %v", err)
	}
	later := mustApply(t, r, Change{Window: 20_000})
	if next, err := later.Apply(admit); !errors.Is(err, ErrStale) || next != later {
		t.Errorf("after another change: %v", err)
	}
	newer := admit
	newer.From++
	if _, err := r.Apply(newer); !errors.Is(err, ErrStale) {
		t.Errorf("from a version to come: %v", err)
	}
}

// TestStopIsRefused: only the last member states where grants ended, it keeps
// its log, and it does nothing else at once (S1).
func TestStopIsRefused(t *testing.T) {
	a := record(incarnation("a1"))
	a.Durable = true
	empty := mustRaise(t, formed(t, 1, DefaultWindow), 10_000)
	alone := mustApply(t, empty, Change{Join: []Member{a}, Lose: []Loss{{0, a.Incarnation, nil}}})
	pair := mustApply(t, alone, Change{Join: records([]string{"b1"})})
	frail := mustApply(t, empty, Change{Join: records([]string{"b1"})})
	for name, test := range map[string]struct {
		roster *Roster
		change Change
	}{
		"nobody":         {empty, Change{Stop: 1}},
		"no disk":        {frail, Change{Stop: 1}},
		"two":            {pair, Change{Stop: 1}},
		"in the future":  {alone, Change{Stop: alone.Ceiling + 1}},
		"before time":    {alone, Change{Stop: -1}},
		"with a join":    {alone, Change{Stop: 1, Join: records([]string{"b1"})}},
		"with a removal": {pair, Change{Stop: 1, Remove: incarnations([]string{"b1"})}},
		"with a loss":    {alone, Change{Stop: 1, Lose: []Loss{{0, a.Incarnation, nil}}}},
		"with a window":  {alone, Change{Stop: 1, Window: 20_000}},
		"with a grant":   {alone, Change{Stop: 1, Granted: 1}},
		"with settled":   {alone, Change{Stop: 1, Settle: []Incarnation{a.Incarnation}}},
		"with a doubt":   {mustApply(t, alone, Change{Settle: []Incarnation{a.Incarnation}}), Change{Stop: 1, Doubt: []Incarnation{a.Incarnation}}},
	} {
		if next, err := test.roster.Apply(Command{From: test.roster.Version, Change: &test.change}); !errors.Is(err, ErrRefused) || next != test.roster {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStopHoldsForOneCommand: the losses of the very next command begin where
// grants ended, or at the end of shown grants; those of any later one at the
// ceiling (S1).
func TestStopHoldsForOneCommand(t *testing.T) {
	a := record(incarnation("a1"))
	a.Durable = true
	r := mustApply(t, mustRaise(t, formed(t, 2, DefaultWindow), 10_000), Change{Join: []Member{a}})
	r = mustApply(t, r, Change{Lose: []Loss{{0, a.Incarnation, nil}, {1, a.Incarnation, nil}}})
	stopped := mustApply(t, r, Change{Stop: 12_000})
	if stopped.Stopped != 12_000 || stopped.Ceiling != 25_000 || stopped.Partitions[0].Floor != r.Partitions[0].Floor {
		t.Fatalf("stopped: %+v", stopped)
	}
	a.Incarnation = incarnation("a2")
	again := Change{Join: []Member{a}, Lose: []Loss{{0, a.Incarnation, nil}, {1, a.Incarnation, nil}}}
	for name, test := range map[string]struct {
		between *Roster
		granted Tick
		floor   Tick
	}{
		"at once":                {stopped, 0, 12_000},
		"below grants":           {stopped, 12_500, 12_500},
		"above grants":           {stopped, 11_500, 12_000},
		"after a raise":          {mustRaise(t, stopped, 9_000), 0, 25_000},
		"after a window":         {mustApply(t, stopped, Change{Window: 20_000}), 0, 25_000},
		"after settling":         {mustApply(t, stopped, Change{Settle: stopped.Unsettled}), 0, 25_000},
		"after a stranger joins": {mustApply(t, stopped, Change{Join: records([]string{"b1"})}), 0, 25_000},
	} {
		c := again
		c.Granted = test.granted
		after := mustApply(t, test.between, c)
		if p := after.Partitions[1]; p.Floor != test.floor || p.LostTerm != Term(after.Version) || after.Stopped != 0 {
			t.Errorf("%s: %+v, stopped %d", name, p, after.Stopped)
		}
	}
}

// TestStopAndTakeover: a take right after a stop begins at the ceiling all the
// same, for only losses use where grants ended (S1).
func TestStopAndTakeover(t *testing.T) {
	r := lived(t)
	r.Stopped = 5 // as no grid of several members can have it
	after := mustApply(t, r, Change{Take: replicas("0b1"), Lose: []Loss{{2, incarnation("a1"), nil}}})
	if after.Partitions[0].Floor != r.Ceiling || after.Partitions[2].Floor != 5 {
		t.Errorf("floors %d and %d", after.Partitions[0].Floor, after.Partitions[2].Floor)
	}
}

// TestUnsettled: who joins is unsettled until it is settled, and again when in
// doubt, joined anew or not at all when removed.
func TestUnsettled(t *testing.T) {
	r := formed(t, 1, DefaultWindow)
	for _, step := range []struct {
		change Change
		want   []string
	}{
		{Change{Join: records([]string{"c1", "a1", "b1"})}, []string{"a1", "b1", "c1"}},
		{Change{Settle: incarnations([]string{"c1", "a1"})}, []string{"b1"}},
		{Change{Join: records([]string{"a1", "d1"}), Settle: incarnations([]string{"d1"})}, []string{"b1"}},
		{Change{Doubt: incarnations([]string{"a1"})}, []string{"a1", "b1"}},
		{Change{Remove: incarnations([]string{"a1"})}, []string{"b1"}},
		{Change{Join: records([]string{"b2", "c2"}), Settle: incarnations([]string{"b1"})}, []string{"b2", "c2"}},
		{Change{Settle: incarnations([]string{"b2", "c2"})}, nil},
	} {
		r = mustApply(t, r, step.change)
		if !slices.Equal(r.Unsettled, incarnations(step.want)) {
			t.Fatalf("%+v left %v, want %v", step.change, r.Unsettled, step.want)
		}
	}
	if r.Settled(incarnation("a1")) || !r.Settled(incarnation("d1")) || r.Settled("") {
		t.Error("settled: a stranger, or not d1")
	}
}
