package roster_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/internal/rostertest"
)

// lived is a grid of four members and a few versions, to try the rules on:
//
//	0: a1 owns, b1 is in sync, c1 joins
//	1: a1 owns alone
//	2: no owner
func lived(t *testing.T) *roster.Roster {
	t.Helper()
	r := rostertest.Formed(t, 3, roster.DefaultWindow)
	r = rostertest.Apply(t, r, roster.Change{Join: rostertest.Records([]string{"a1", "b1", "c1", "d1"})})
	r = rostertest.Apply(t, r, roster.Change{
		Lose: []roster.Loss{{Partition: 0, Owner: rostertest.Incarnation("a1"),
			With: rostertest.Incarnations([]string{"b1"})}, {Partition: 1, Owner: rostertest.Incarnation("a1")}},
		Settle: rostertest.Incarnations([]string{"a1", "b1"}),
	})
	r = rostertest.Raise(t, rostertest.Apply(t, r, roster.Change{Add: rostertest.Replicas("0c1")}), 100_000)
	return r
}

// TestMoves: what each move makes of the partition it is about, and that it
// leaves the others alone.
func TestMoves(t *testing.T) {
	a, b, c, d := rostertest.Incarnation("a1"), rostertest.Incarnation("b1"), rostertest.Incarnation("c1"),
		rostertest.Incarnation("d1")
	const ceiling = 115_000
	for _, test := range []struct {
		name   string
		change roster.Change
		id     roster.PartitionID
		want   roster.Partition
	}{
		{
			"take keeps the loss and the join", roster.Change{Take: rostertest.Replicas("0b1")}, 0,
			roster.Partition{Owner: b, InSync: []roster.Incarnation{a, b}, Joining: c, Term: 5, Floor: ceiling, LostTerm: 3},
		},
		{
			"take leaves out who is removed", roster.Change{Take: rostertest.Replicas("0b1"), Remove: []roster.Incarnation{a},
				Lose: []roster.Loss{{1, d, nil}}}, 0,
			roster.Partition{Owner: b, InSync: []roster.Incarnation{b}, Joining: c, Term: 5, Floor: ceiling, LostTerm: 3},
		},
		{
			"lose forgets the replicas", roster.Change{Lose: []roster.Loss{{0, d, []roster.Incarnation{c, a}}}}, 0,
			roster.Partition{Owner: d, InSync: []roster.Incarnation{a, c, d}, Term: 5, Floor: ceiling, LostTerm: 5},
		},
		{
			"lose starts above granted", roster.Change{Lose: []roster.Loss{{2, d, nil}}, Granted: ceiling + 7}, 2,
			roster.Partition{Owner: d, InSync: []roster.Incarnation{d}, Term: 5, Floor: ceiling + 7, LostTerm: 5},
		},
		{
			"add keeps the term", roster.Change{Add: rostertest.Replicas("1d1")}, 1,
			roster.Partition{Owner: a, InSync: []roster.Incarnation{a}, Joining: d, Term: 3, LostTerm: 3},
		},
		{
			"admit keeps the term", roster.Change{Admit: rostertest.Replicas("0c1")}, 0,
			roster.Partition{Owner: a, InSync: []roster.Incarnation{a, b, c}, Term: 3, LostTerm: 3},
		},
		{
			"drop keeps the term", roster.Change{Drop: rostertest.Replicas("0b1")}, 0,
			roster.Partition{Owner: a, InSync: []roster.Incarnation{a}, Joining: c, Term: 3, LostTerm: 3},
		},
		{
			"drop gives a join up", roster.Change{Drop: rostertest.Replicas("0c1")}, 0,
			roster.Partition{Owner: a, InSync: []roster.Incarnation{a, b}, Term: 3, LostTerm: 3},
		},
		{
			"remove takes out and keeps the term", roster.Change{Remove: []roster.Incarnation{b, c}}, 0,
			roster.Partition{Owner: a, InSync: []roster.Incarnation{a}, Term: 3, LostTerm: 3},
		},
		{
			"a newer process takes the older out", roster.Change{Join: rostertest.Records([]string{"b2", "c2"})}, 0,
			roster.Partition{Owner: a, InSync: []roster.Incarnation{a}, Term: 3, LostTerm: 3},
		},
		{
			"a newer process of the owner", roster.Change{Join: rostertest.Records([]string{"a2"}),
				Take: rostertest.Replicas("0b1"), Lose: []roster.Loss{{1, rostertest.Incarnation("a2"), nil}}}, 1,
			roster.Partition{Owner: rostertest.Incarnation("a2"), InSync: rostertest.Incarnations([]string{"a2"}), Term: 5,
				Floor: ceiling, LostTerm: 5},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := lived(t)
			after := rostertest.Apply(t, before, test.change)
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
func checkOthers(t *testing.T, before, after *roster.Roster, but roster.PartitionID) {
	t.Helper()
	for id, p := range after.Partitions {
		if roster.PartitionID(id) != but && !reflect.DeepEqual(p, before.Partitions[id]) {
			t.Errorf("partition %d became %+v", id, p)
		}
	}
}

// TestRefusals: what breaks a rule is refused as a whole, for the reason named.
func TestRefusals(t *testing.T) {
	a, b := rostertest.Incarnation("a1"), rostertest.Incarnation("b1")
	loss := func(id roster.PartitionID, owner string, with ...string) roster.Change {
		return roster.Change{Lose: []roster.Loss{{id, rostertest.Incarnation(owner), rostertest.Incarnations(with)}}}
	}
	for name, test := range map[string]struct {
		change roster.Change
		reason string
	}{
		"nothing":                {roster.Change{}, "changes nothing"},
		"take by one that joins": {roster.Change{Take: rostertest.Replicas("0c1")}, "which is not in sync"},
		"take by a stranger":     {roster.Change{Take: rostertest.Replicas("0e1")}, "not a member"},
		"take by another":        {roster.Change{Take: rostertest.Replicas("0d1")}, "which is not in sync"},
		"take by the owner":      {roster.Change{Take: rostertest.Replicas("0a1")}, "already owns it"},
		"take by one that goes": {roster.Change{Take: rostertest.Replicas("0b1"), Remove: []roster.Incarnation{b}},
			"not a member"},
		"take by one that is newer": {roster.Change{Take: rostertest.Replicas("0b2"),
			Join: rostertest.Records([]string{"b2"})}, "which is not in sync"},
		"take without an owner": {roster.Change{Take: rostertest.Replicas("2a1")}, "which is not in sync"},
		"take and drop": {roster.Change{Take: rostertest.Replicas("0b1"), Drop: rostertest.Replicas("0c1")},
			"moved twice"},
		"take of no partition": {roster.Change{Take: rostertest.Replicas("3a1")}, "partition 3 does not exist"},
		"lose to a stranger":   {loss(0, "e1"), "not a member"},
		"lose with a stranger": {loss(0, "a1", "e1"), "not a member"},
		"lose to one that goes": {rostertest.Both(loss(1, "b1"), roster.Change{Remove: []roster.Incarnation{b}}),
			"not a member"},
		"lose with the owner":  {loss(0, "a1", "a1"), "twice"},
		"lose with one twice":  {loss(0, "a1", "b1", "b1"), "twice"},
		"lose twice":           {rostertest.Both(loss(1, "a1"), loss(1, "b1")), "moved twice"},
		"add without an owner": {roster.Change{Add: rostertest.Replicas("2a1")}, "no owner"},
		"add who is in sync":   {roster.Change{Add: rostertest.Replicas("0b1")}, "already"},
		"add the owner":        {roster.Change{Add: rostertest.Replicas("0a1")}, "already"},
		"add who joins":        {roster.Change{Add: rostertest.Replicas("0c1")}, "already"},
		"add a stranger":       {roster.Change{Add: rostertest.Replicas("0e1")}, "not a member"},
		"add and admit": {roster.Change{Add: rostertest.Replicas("1d1"), Admit: rostertest.Replicas("1d1")},
			"moved twice"},
		"admit who does not join": {roster.Change{Admit: rostertest.Replicas("0d1")}, "does not join"},
		"admit who is in sync":    {roster.Change{Admit: rostertest.Replicas("0b1")}, "does not join"},
		"admit to another":        {roster.Change{Admit: rostertest.Replicas("1c1")}, "does not join"},
		"admit one that goes": {roster.Change{Admit: rostertest.Replicas("0c1"),
			Remove: rostertest.Incarnations([]string{"c1"})}, "not a member"},
		"admit one that is newer": {roster.Change{Admit: rostertest.Replicas("0c2"),
			Join: rostertest.Records([]string{"c2"})}, "does not join"},
		"drop the owner":  {roster.Change{Drop: rostertest.Replicas("0a1")}, "the owner"},
		"drop the last":   {roster.Change{Drop: rostertest.Replicas("1a1")}, "the owner"},
		"drop no replica": {roster.Change{Drop: rostertest.Replicas("0d1")}, "not a replica"},
		"remove an owner": {roster.Change{Remove: []roster.Incarnation{a}}, "gets no new owner"},
		"a newer owner":   {roster.Change{Join: rostertest.Records([]string{"a2"})}, "gets no new owner"},
		"a newer owner, one given": {roster.Change{Join: rostertest.Records([]string{"a2"}),
			Take: rostertest.Replicas("0b1")}, "gets no new owner"},
		"doubt who is unsettled": {roster.Change{Doubt: rostertest.Incarnations([]string{"c1"})}, "unsettled"},
		"doubt twice":            {roster.Change{Doubt: []roster.Incarnation{a, a}}, "unsettled"},
		"doubt a stranger":       {roster.Change{Doubt: rostertest.Incarnations([]string{"e1"})}, "not a member"},
		"settle who is settled":  {roster.Change{Settle: []roster.Incarnation{a}}, "not unsettled"},
		"settle a stranger":      {roster.Change{Settle: rostertest.Incarnations([]string{"e1"})}, "not unsettled"},
		"granted before 1970":    {roster.Change{Granted: -1}, "not from 1970"},
		"granted after 9999":     {roster.Change{Granted: clustertime.Latest + 1}, "not from 1970"},
	} {
		t.Run(name, func(t *testing.T) {
			r := lived(t)
			kept := deepCopy(r)
			next, err := r.Apply(roster.Command{From: r.Version, Change: &test.change})
			if !errors.Is(err, roster.ErrRefused) || !strings.Contains(err.Error(), test.reason) {
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
	admit := roster.Command{From: r.Version, Change: &roster.Change{Admit: rostertest.Replicas("0c1")}}
	if raised := rostertest.Raise(t, r, 200_000); raised.Version != r.Version {
		t.Errorf("a raise made version %d of %d", raised.Version, r.Version)
	} else if _, err := raised.Apply(admit); err != nil {
		t.Errorf("after a raise: %v", err)
	}
	later := rostertest.Apply(t, r, roster.Change{Window: 20_000})
	if next, err := later.Apply(admit); !errors.Is(err, roster.ErrStale) || next != later {
		t.Errorf("after another change: %v", err)
	}
	newer := admit
	newer.From++
	if _, err := r.Apply(newer); !errors.Is(err, roster.ErrStale) {
		t.Errorf("from a version to come: %v", err)
	}
}

// TestStopIsRefused: only the last member states where grants ended, it keeps
// its log, and the change has no other part (S1).
func TestStopIsRefused(t *testing.T) {
	a := rostertest.Record(rostertest.Incarnation("a1"))
	a.Durable = true
	empty := rostertest.Raise(t, rostertest.Formed(t, 1, roster.DefaultWindow), 10_000)
	alone := rostertest.Apply(t, empty, roster.Change{Join: []roster.Member{a},
		Lose: []roster.Loss{{0, a.Incarnation, nil}}})
	pair := rostertest.Apply(t, alone, roster.Change{Join: rostertest.Records([]string{"b1"})})
	frail := rostertest.Apply(t, empty, roster.Change{Join: rostertest.Records([]string{"b1"})})
	for name, test := range map[string]struct {
		roster *roster.Roster
		change roster.Change
	}{
		"no member":      {empty, roster.Change{Stop: 1}},
		"no disk":        {frail, roster.Change{Stop: 1}},
		"two":            {pair, roster.Change{Stop: 1}},
		"in the future":  {alone, roster.Change{Stop: alone.Ceiling + 1}},
		"before time":    {alone, roster.Change{Stop: -1}},
		"with a join":    {alone, roster.Change{Stop: 1, Join: rostertest.Records([]string{"b1"})}},
		"with a removal": {pair, roster.Change{Stop: 1, Remove: rostertest.Incarnations([]string{"b1"})}},
		"with a loss":    {alone, roster.Change{Stop: 1, Lose: []roster.Loss{{0, a.Incarnation, nil}}}},
		"with a window":  {alone, roster.Change{Stop: 1, Window: 20_000}},
		"with a grant":   {alone, roster.Change{Stop: 1, Granted: 1}},
		"with settled":   {alone, roster.Change{Stop: 1, Settle: []roster.Incarnation{a.Incarnation}}},
		"with a doubt": {rostertest.Apply(t, alone, roster.Change{Settle: []roster.Incarnation{a.Incarnation}}),
			roster.Change{Stop: 1, Doubt: []roster.Incarnation{a.Incarnation}}},
	} {
		if next, err := test.roster.Apply(roster.Command{From: test.roster.Version, Change: &test.change}); !errors.Is(err,
			roster.ErrRefused) || next != test.roster {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStopHoldsUntilAnOwnerChanges: losses begin where grants ended, or at the end of shown grants,
// until a raise, a change that gives a partition another owner, or shown grants; later ones begin at the
// ceiling (S1).
func TestStopHoldsUntilAnOwnerChanges(t *testing.T) {
	a := rostertest.Record(rostertest.Incarnation("a1"))
	a.Durable = true
	r := rostertest.Apply(t, rostertest.Raise(t, rostertest.Formed(t, 2, roster.DefaultWindow), 10_000),
		roster.Change{Join: []roster.Member{a}})
	r = rostertest.Apply(t, r, roster.Change{Lose: []roster.Loss{{0, a.Incarnation, nil}, {1, a.Incarnation, nil}}})
	stopped := rostertest.Apply(t, r, roster.Change{Stop: 12_000})
	if stopped.Stopped != 12_000 || stopped.Ceiling != 25_000 || stopped.Partitions[0].Floor != r.Partitions[0].Floor {
		t.Fatalf("stopped: %+v", stopped)
	}
	a.Incarnation = rostertest.Incarnation("a2")
	again := roster.Change{Join: []roster.Member{a}, Lose: []roster.Loss{{0, a.Incarnation, nil}, {1, a.Incarnation, nil}}}
	b := rostertest.Incarnation("b1")
	with := func(c roster.Change) *roster.Roster {
		return rostertest.Apply(t, rostertest.Apply(t, stopped, roster.Change{Join: rostertest.Records([]string{"b1"})}), c)
	}
	for name, test := range map[string]struct {
		between *roster.Roster
		granted clustertime.Tick
		floor   clustertime.Tick
	}{
		"immediately":           {stopped, 0, 12_000},
		"below grants":          {stopped, 12_500, 12_500},
		"above grants":          {stopped, 11_500, 12_000},
		"after a raise":         {rostertest.Raise(t, stopped, 9_000), 0, 25_000},
		"after a window":        {rostertest.Apply(t, stopped, roster.Change{Window: 20_000}), 0, 12_000},
		"after settling":        {rostertest.Apply(t, stopped, roster.Change{Settle: stopped.Unsettled}), 0, 12_000},
		"after a replica joins": {with(roster.Change{Add: rostertest.Replicas("0b1")}), 0, 12_000},
		"after a loss":          {with(roster.Change{Lose: []roster.Loss{{0, b, nil}}}), 0, 25_000},
		"after grants":          {rostertest.Apply(t, stopped, roster.Change{Granted: 13_000}), 0, 25_000},
	} {
		c := again
		c.Granted = test.granted
		after := rostertest.Apply(t, test.between, c)
		if p := after.Partitions[1]; p.Floor != test.floor || p.LostTerm != roster.Term(after.Version) || after.Stopped != 0 {
			t.Errorf("%s: %+v, stopped %d", name, p, after.Stopped)
		}
	}
}

// TestStopAndTakeover: a take right after a stop begins at the ceiling all the
// same, for only losses use where grants ended (S1).
func TestStopAndTakeover(t *testing.T) {
	r := lived(t)
	r.Stopped = 5 // as no grid of several members can have it
	after := rostertest.Apply(t, r, roster.Change{Take: rostertest.Replicas("0b1"),
		Lose: []roster.Loss{{2, rostertest.Incarnation("a1"), nil}}})
	if after.Partitions[0].Floor != r.Ceiling || after.Partitions[2].Floor != 5 {
		t.Errorf("floors %d and %d", after.Partitions[0].Floor, after.Partitions[2].Floor)
	}
}

// TestUnsettled: a joining member is unsettled until it is settled, and again when it is
// suspected or joins again; a removed one is not listed.
func TestUnsettled(t *testing.T) {
	r := rostertest.Formed(t, 1, roster.DefaultWindow)
	for _, step := range []struct {
		change roster.Change
		want   []string
	}{
		{roster.Change{Join: rostertest.Records([]string{"c1", "a1", "b1"})}, []string{"a1", "b1", "c1"}},
		{roster.Change{Settle: rostertest.Incarnations([]string{"c1", "a1"})}, []string{"b1"}},
		{roster.Change{Join: rostertest.Records([]string{"a1", "d1"}), Settle: rostertest.Incarnations([]string{"d1"})},
			[]string{"b1"}},
		{roster.Change{Doubt: rostertest.Incarnations([]string{"a1"})}, []string{"a1", "b1"}},
		{roster.Change{Remove: rostertest.Incarnations([]string{"a1"})}, []string{"b1"}},
		{roster.Change{Join: rostertest.Records([]string{"b2", "c2"}), Settle: rostertest.Incarnations([]string{"b1"})},
			[]string{"b2", "c2"}},
		{roster.Change{Settle: rostertest.Incarnations([]string{"b2", "c2"})}, nil},
	} {
		r = rostertest.Apply(t, r, step.change)
		if !slices.Equal(r.Unsettled, rostertest.Incarnations(step.want)) {
			t.Fatalf("%+v left %v, want %v", step.change, r.Unsettled, step.want)
		}
	}
	if r.Settled(rostertest.Incarnation("a1")) || !r.Settled(rostertest.Incarnation("d1")) || r.Settled("") {
		t.Error("settled: a stranger, or not d1")
	}
}
