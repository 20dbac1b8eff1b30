package chaos

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/proof/chaos/history"
	"github.com/snowgrid/snowgrid/sequencer"
)

// loose is the number of IDs of TestManyLooseIDs; 100000000 take a minute and some GiB.
var loose = flag.Int("loose-ids", 1_000_000, "number of IDs to check, no two of them consecutive")

// fills is a run of a holder that got these IDs on one handle.
func fills(name string, batches ...[]history.Run) holderRun {
	run := holderRun{name: name, holder: name}
	for i, batch := range batches {
		at := time.Duration(i+1) * time.Second
		run.ops = append(run.ops, history.Op{Kind: history.Fill, Name: "load-0", Handle: 1, Call: at, Return: at,
			Outcome: history.OK, Runs: batch})
	}
	return run
}

// rows are runs of IDs, from pairs of a first ID and a count.
func rows(pairs ...int64) (all []history.Run) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, history.Run{First: pairs[i], Count: pairs[i+1]})
	}
	return all
}

func TestIDsCheckerCanFail(t *testing.T) {
	tests := []struct {
		name                 string
		runs                 []holderRun
		duplicates, disorder uint64
	}{
		{"clean", []holderRun{fills("a", rows(1, 10), rows(21, 10)), fills("b", rows(11, 10), rows(31, 5))}, 0, 0},
		{"one ID of two holders", []holderRun{fills("a", rows(1, 10)), fills("b", rows(10, 10))}, 1, 0},
		{"a run inside another", []holderRun{fills("a", rows(1, 100)), fills("b", rows(40, 3, 90, 20))}, 14, 0},
		{"a short run before the end of a long one", []holderRun{fills("a", rows(1, 100)), fills("b", rows(5, 1)),
			fills("c", rows(50, 1))}, 2, 0},
		{"three times", []holderRun{fills("a", rows(7, 1)), fills("b", rows(7, 1)), fills("c", rows(7, 1))}, 2, 0},
		{"one holder repeats", []holderRun{fills("a", rows(1, 5), rows(5, 1))}, 1, 1},
		{"one holder goes back", []holderRun{fills("a", rows(10, 5), rows(5, 1))}, 0, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := checkIDs(test.runs)
			if v.duplicates != test.duplicates || v.disorder != test.disorder {
				t.Errorf("found %d duplicates and %d out of order, want %d and %d: %q",
					v.duplicates, v.disorder, test.duplicates, test.disorder, v.findings)
			}
			if (v.duplicates+v.disorder > 0) != (len(v.findings) > 0) {
				t.Errorf("the findings are %q", v.findings)
			}
		})
	}
}

// TestDuplicatesAgainstCounting compares with counting every ID in a map.
func TestDuplicatesAgainstCounting(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var spans []span
		seen, want := map[int64]bool{}, uint64(0)
		for range 1 + rng.IntN(8) {
			first := rng.Int64N(60)
			s := span{first: first, last: first + rng.Int64N(12)}
			spans = append(spans, s)
			for id := s.first; id <= s.last; id++ {
				if seen[id] {
					want++
				}
				seen[id] = true
			}
		}
		if got := countDuplicates(spans, func(_, _ span, _ int64) {}); got != want {
			t.Fatalf("%v: %d duplicates, want %d", spans, got, want)
		}
	}
}

// TestManyLooseIDs is the worst case of memory and time: no two IDs are consecutive.
func TestManyLooseIDs(t *testing.T) {
	const holders, step = 20, 50
	runs := make([]holderRun, holders)
	for h := range runs {
		single := make([]history.Run, *loose/holders)
		for i := range single {
			single[i] = history.Run{First: int64(i*step + 2*h), Count: 1}
		}
		runs[h] = fills("h", single)
	}
	runs[7].ops[0].Runs[len(runs[7].ops[0].Runs)/2].First = runs[8].ops[0].Runs[len(runs[7].ops[0].Runs)/2].First
	began := time.Now()
	v := checkIDs(runs)
	t.Logf("%s IDs in %v", grouped(v.ids), time.Since(began).Round(10*time.Millisecond))
	if v.duplicates != 1 || v.disorder != 0 {
		t.Errorf("found %d duplicates and %d out of order, want the one that was planted", v.duplicates, v.disorder)
	}
}

// row is a run of IDs of a logical node in one millisecond after the epoch.
func row(node, ms, counter, count int) history.Run {
	d := definitionOf("load-0")
	id, err := d.Compose(sequencer.Parts{Node: sequencer.NodeID(node),
		Time: d.Config().Epoch.Time().Add(time.Duration(ms) * time.Millisecond), Counter: uint32(counter)})
	if err != nil {
		panic(err)
	}
	return history.Run{First: int64(id), Count: int64(count)}
}

// again puts a detach and an attach between a run's operations i-1 and i.
func again(run holderRun, i int) holderRun {
	between := []history.Op{
		{Kind: history.Detach, Name: "load-0", Handle: 1, Outcome: history.OK},
		{Kind: history.Attach, Name: "load-0", Handle: 1, Outcome: history.OK},
	}
	run.ops = append(append(append([]history.Op{}, run.ops[:i]...), between...), run.ops[i:]...)
	return run
}

func TestGrantsCheckerCanFail(t *testing.T) {
	type runs = []history.Run
	tests := []struct {
		name     string
		runs     []holderRun
		overlaps uint64
	}{
		{"one after the other", []holderRun{fills("a", runs{row(3, 100, 0, 9), row(3, 200, 0, 9)}),
			fills("b", runs{row(3, 201, 0, 9)})}, 0},
		{"two nodes", []holderRun{fills("a", runs{row(3, 100, 0, 9), row(3, 200, 0, 9)}),
			fills("b", runs{row(4, 150, 0, 9)})}, 0},
		{"one between", []holderRun{fills("a", runs{row(3, 100, 0, 9), row(3, 200, 0, 9)}),
			fills("b", runs{row(3, 150, 0, 9)})}, 1},
		{"one millisecond, no ID in common",
			[]holderRun{fills("a", runs{row(3, 100, 0, 9)}), fills("b", runs{row(3, 100, 9, 9)})}, 1},
		{"behind a long one", []holderRun{
			fills("a", runs{row(3, 100, 0, 9), row(3, 900, 0, 9)}), fills("b", runs{row(3, 150, 0, 9)}),
			fills("c", runs{row(3, 800, 0, 9)})}, 2},
		{"one attachment continues", []holderRun{fills("a", runs{row(3, 100, 0, 9)}, runs{row(3, 100, 9, 9)})}, 0},
		{"another node, told by its IDs alone", []holderRun{fills("a", runs{row(3, 100, 0, 9)}, runs{row(4, 200, 0, 9)}),
			fills("b", runs{row(3, 150, 0, 9)})}, 0},
		{"and another holder of that", []holderRun{fills("a", runs{row(3, 100, 0, 9)}, runs{row(4, 200, 0, 9)}),
			fills("b", runs{row(4, 200, 9, 9)})}, 1},
		{"the same holder attaches again",
			[]holderRun{again(fills("a", runs{row(3, 100, 0, 9)}, runs{row(3, 100, 9, 9)}), 1)}, 1},
		{"and begins above", []holderRun{again(fills("a", runs{row(3, 100, 0, 9)}, runs{row(3, 101, 0, 9)}), 1)}, 0},
		{"a long pause with another in it", []holderRun{
			fills("a", runs{row(3, 100, 0, 9)}, runs{row(3, 40_000, 0, 9)}), fills("b", runs{row(3, 20_000, 0, 9)})}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if v := checkGrants(test.runs); v.overlaps != test.overlaps || len(v.findings) != int(test.overlaps) {
				t.Errorf("found %d overlaps, want %d: %q", v.overlaps, test.overlaps, v.findings)
			}
		})
	}
}

func TestGapsCheckerSeesGaps(t *testing.T) {
	run := fills("a", rows(1, 1), rows(2, 1), nil, nil, rows(3, 1), rows(4, 1))
	run.ops[5].Return = time.Minute
	run = again(run, 5) // what comes after is not under the same attachment
	stopped := func(_ string, from, till time.Duration) time.Duration {
		if from == 2*time.Second && till == 5*time.Second {
			return 500 * time.Millisecond
		}
		return 0
	}
	if all := longestGaps([]holderRun{run}, stopped); len(all) != 1 || all[0].length != 2500*time.Millisecond {
		t.Errorf("found %+v, want one of 2.5s", all)
	}
}

// told is an operation of a holder of one name, in seconds.
func told(kind history.Kind, call, answer float64, outcome history.Outcome, node int) history.Op {
	return history.Op{
		Kind: kind, Name: "n", Handle: 1, Outcome: outcome, Node: node,
		Call: time.Duration(call * float64(time.Second)), Return: time.Duration(answer * float64(time.Second)),
	}
}

func TestTablesCheckerCanFail(t *testing.T) {
	type ops = []history.Op
	const (
		create, open, attach, detach, destroy = history.Create, history.Open, history.Attach, history.Detach, history.Destroy
		ok, notFound, ended, unknown          = history.OK, history.NotFound, history.Destroyed, history.Unknown
	)
	home := roster.PartitionOf("n", roster.DefaultPartitions)
	tests := []struct {
		name string
		ops  []ops // of each holder
		lost losses
		good bool
	}{
		{"two holders, two nodes", []ops{{told(create, 1, 2, ok, 0)}, {told(create, 1, 2, ok, 1)}}, nil, true},
		{"two holders of one node", []ops{{told(create, 1, 2, ok, 0)}, {told(create, 3, 4, ok, 0)}}, nil, false},
		{"two holders of one node, at the same time", []ops{{told(create, 1, 4, ok, 0)}, {told(create, 1, 4, ok, 0)}},
			nil, false},
		{"a node given back", []ops{{told(create, 1, 2, ok, 0), told(detach, 3, 4, ok, -1)}, {told(create, 5, 6, ok, 0)}},
			nil, true},
		{"a node given back too late", []ops{{told(create, 1, 2, ok, 0), told(detach, 7, 8, ok, -1)},
			{told(create, 5, 6, ok, 0)}}, nil, false},
		{"a node given back without an answer", []ops{{told(create, 1, 2, ok, 0), told(detach, 3, 8, unknown, -1)},
			{told(create, 9, 10, ok, 0)}}, nil, true},
		{"and taken before", []ops{{told(create, 1, 2, ok, 0), told(detach, 5, 8, unknown, -1)}, {told(create, 3, 4, ok, 0)}},
			nil, false},
		{"an attachment that expired", []ops{{told(create, 1, 2, ok, 0)}, {told(create, 16, 17, ok, 0)}}, nil, true},
		{"an attachment that expired too early", []ops{{told(create, 1, 2, ok, 0)}, {told(create, 13, 15, ok, 0)}},
			nil, false},
		{"an attachment that expired, and not the next one",
			[]ops{{told(create, 1, 1.2, ok, 0), told(detach, 20, 20.2, ok, -1)},
				{told(create, 21, 21.2, ok, 0)}, {told(create, 23, 23.2, ok, 0)}}, nil, false},
		{"an attachment that expired, and not the holder's next one",
			[]ops{{told(create, 1, 1.2, ok, 0), told(detach, 20, 20.2, ok, -1), told(attach, 21, 21.2, ok, 0)},
				{told(create, 23, 23.2, ok, 0)}}, nil, false},
		{"an attachment given back before it could expire",
			[]ops{{told(create, 1, 1.2, ok, 0), told(detach, 2, 2.2, ok, -1), told(attach, 14, 14.2, ok, 0)},
				{told(create, 17, 17.2, ok, 0)}}, nil, false},
		{"an attachment that expired, and not that of another",
			[]ops{{told(create, 1, 1.2, ok, 0), told(detach, 2, 2.2, unknown, -1)},
				{told(create, 17, 17.2, ok, 0)}, {told(create, 19, 19.2, ok, 0)}}, nil, false},
		{"opened before it was created", []ops{{told(create, 3, 4, ok, 0)}, {told(open, 1, 2, ok, -1)}}, nil, false},
		{"opened while it was created", []ops{{told(create, 1, 4, ok, 0)}, {told(open, 2, 3, ok, -1)}}, nil, true},
		{"not found though created", []ops{{told(create, 1, 2, ok, 0)}, {told(open, 3, 4, notFound, -1)}}, nil, false},
		{"not found after its end", []ops{{told(create, 1, 1.2, ok, 0), told(destroy, 3, 4, ok, -1)},
			{told(open, 5, 6, notFound, -1)}}, nil, true},
		{"opened after its end", []ops{{told(create, 1, 1.2, ok, 0), told(destroy, 3, 4, ok, -1)},
			{told(open, 5, 6, ok, -1)}}, nil, false},
		{"attached after its end", []ops{{told(create, 1, 1.2, ok, 0), told(detach, 2, 3, ok, -1), told(attach, 6, 7, ok, 0)},
			{told(open, 2, 3, ok, -1), told(destroy, 4, 5, ok, -1)}}, nil, false},
		{"an end without an answer that came late", []ops{{told(create, 1, 1.2, ok, 0), told(destroy, 3, 0, 0, -1)},
			{told(open, 5, 6, ok, -1)}, {told(open, 7, 8, notFound, -1)}}, nil, true},
		{"and was taken back", []ops{{told(create, 1, 1.2, ok, 0), told(destroy, 3, 0, 0, -1)},
			{told(open, 5, 6, notFound, -1)}, {told(open, 7, 8, ok, -1)}}, nil, false},
		{"told of an end that there was not",
			[]ops{{told(create, 1, 2, ok, 0), told(detach, 3, 4, ok, -1), told(attach, 5, 6, ended, -1)}}, nil, false},
		{"told of an end that is about to be", []ops{{told(create, 1, 1.2, ok, 0), told(destroy, 3, 6, ok, -1)},
			{told(open, 2, 2.1, ok, -1), told(attach, 3, 4, ended, -1)},
			{told(open, 5, 5.1, ok, -1), told(attach, 7, 8, ended, -1)}}, nil, true},
		{"a node given back for an end that is about to be", []ops{{told(create, 1, 1.2, ok, 0), told(destroy, 3, 6, ok, -1)},
			{told(open, 2, 2.1, ok, -1), told(attach, 4, 5, ok, 0)}}, nil, true},
		{"told of an end before it was asked for", []ops{{told(create, 1, 1.2, ok, 0), told(destroy, 5, 6, ok, -1)},
			{told(open, 2, 2.1, ok, -1), told(attach, 3, 4, ended, -1)}}, nil, false},
		{"told of the end of another life",
			[]ops{{told(create, 1, 1.2, ok, 0), told(destroy, 2, 3, ok, -1), told(create, 4, 4.2, ok, 0)},
				{told(open, 5, 5.2, ok, -1), told(attach, 6, 7, ended, -1)}}, nil, false},
		{"a node of an earlier life", []ops{{told(create, 1, 2, ok, 0), told(destroy, 3, 4, ok, -1)},
			{told(create, 5, 6, ok, 0)}}, nil, true},
		{"created by a killed holder", []ops{{told(create, 1, 0, 0, -1)}, {told(open, 5, 6, ok, -1)}}, nil, true},
		{"created a second time by a late try", []ops{{told(create, 1, 4, ok, 0)},
			{told(open, 1.5, 2, ok, -1), told(destroy, 2.5, 3, ok, -1)}, {told(open, 5, 6, ok, -1)}}, nil, true},
		{"created a second time without one", []ops{{told(create, 1, 1.2, ok, 0)},
			{told(open, 1.5, 2, ok, -1), told(destroy, 2.5, 3, ok, -1)}, {told(open, 5, 6, ok, -1)}}, nil, false},
		{"forgotten with every copy", []ops{{told(create, 1, 2, ok, 0)},
			{told(open, 9, 10, notFound, -1), told(create, 11, 12, ok, 0)}},
			losses{home: {8 * time.Second}}, true},
		{"forgotten with every copy of others",
			[]ops{{told(create, 1, 2, ok, 0)}, {told(open, 9, 10, notFound, -1), told(create, 11, 12, ok, 0)}},
			losses{home + 1: {8 * time.Second}}, false},
		{"forgotten before it was there", []ops{{told(create, 1, 1.2, ok, 0)}, {told(create, 3, 4, ok, 0)}},
			losses{home: {time.Second / 2}}, false},
		{"wrong before every copy was lost", []ops{{told(create, 1, 2, ok, 0)}, {told(create, 3, 4, ok, 0)},
			{told(create, 30, 31, ok, 0)}},
			losses{home: {25 * time.Second}}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var runs []holderRun
			for _, ops := range test.ops {
				runs = append(runs, holderRun{ops: ops})
			}
			v := checkTables(runs, test.lost, time.Minute)
			if len(v.undecided) > 0 || (len(v.broken) == 0) != test.good {
				t.Errorf("explained: %v, want %v", len(v.broken) == 0, test.good)
			}
		})
	}
}
