package explore

import (
	"flag"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/record"
)

// recordStates bounds the search for one mutant outside of the machine.
const recordStates = 400_000

// machineStates bounds that for one inside, by proof/mutants, which asks for more.
var machineStates = flag.Int("states", 0,
	"how many states of a record's or a generator's mutant scope are explored with every rule in force;"+
		" 0 = the usual number")

// missed requires that a search for a mutant found something, at least as far away as the
// protocol's model did.
func missed(t *testing.T, r Result, rule string, steps int) {
	t.Helper()
	if r.Duplicate == "" {
		t.Fatalf("rule %s: no duplicate in %d states, %d steps deep", rule, r.States, r.Steps)
	}
	if r.Steps < steps {
		t.Errorf("rule %s: a duplicate after %d steps, the model needs %d: a step has too many events\n%s", rule, r.Steps,
			steps, strings.Join(r.Trace, "\n"))
	}
	t.Logf("rule %s: %d steps (%d in the model), %d states, %v\n%s", rule, r.Steps, steps, r.States,
		r.Took.Round(time.Millisecond), strings.Join(r.Trace, "\n"))
}

// clean requires that a scope has no duplicate. limited says that it need not be seen to
// its end.
func clean(t *testing.T, r Result, limited bool) {
	t.Helper()
	end := "up to there"
	if r.Exhausted {
		end = "exhausted"
	}
	t.Logf("%d states, %d steps deep, %s; %v", r.States, r.Steps, end, r.Took.Round(time.Millisecond))
	switch {
	case r.Duplicate != "":
		t.Errorf("%s\n%s", r.Duplicate, strings.Join(r.Trace, "\n"))
	case !r.Exhausted && !limited:
		t.Error("ended before everything was seen")
	}
}

// TestRecordFieldsAreKnown: a new field of a record has to be encoded, or known to change
// nothing.
func TestRecordFieldsAreKnown(t *testing.T) {
	placesOf(reflect.TypeFor[record.Record](), "State", "Task", "Version", "Timestamp", "Known", "Attachment", "Life",
		"From", "Until",
		"Bound", "LastUsed", "Graceful", "Nonce", "Generation")
}

// TestRecordMutants leaves out one rule about records after the other: each must be missed.
func TestRecordMutants(t *testing.T) {
	skipUnderRace(t)
	seen := map[RecordWeakness]bool{}
	for _, m := range RecordMutants() {
		if seen[m.Weak] = true; m.Weak == RecordsInMachine {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			skipSlow(t, m.Name)
			missed(t, SearchRecords(m.Scope, m.Weak, Limits{States: recordStates}), m.Rule, m.Steps)
		})
	}
	for w := RecordsInMachine + 1; w < recordWeaknesses; w++ {
		if !seen[w] {
			t.Errorf("weakness %d is tried by no mutant", w)
		}
	}
}

// TestFailoverMutants does so for the quarantine.
func TestFailoverMutants(t *testing.T) {
	skipUnderRace(t)
	seen := map[FailoverWeakness]bool{}
	for _, m := range FailoverMutants() {
		if seen[m.Weak] = true; m.Weak == FailoversInMachine {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			skipSlow(t, m.Name)
			missed(t, SearchFailovers(m.Scope, m.Weak, Limits{States: recordStates}), m.Rule, m.Steps)
		})
	}
	for w := FailoversInMachine + 1; w < failoverWeaknesses; w++ {
		if !seen[w] {
			t.Errorf("weakness %d is tried by no mutant", w)
		}
	}
}

// TestRecordMutantScopes explores the scopes of the mutants with every rule in force: what
// is found there is due to the mutant.
func TestRecordMutantScopes(t *testing.T) {
	skipUnderRace(t)
	seen := map[RecordScope]bool{}
	for _, m := range RecordMutants() {
		t.Run(m.Name, func(t *testing.T) {
			if !seen[m.Scope] {
				seen[m.Scope] = true
				clean(t, SearchRecords(m.Scope, RecordsNone, Limits{States: statesOf(*machineStates, 30_000)}), true)
			}
		})
	}
}

// TestFailoverMutantScopes does so for the quarantine.
func TestFailoverMutantScopes(t *testing.T) {
	skipUnderRace(t)
	seen := map[FailoverScope]bool{}
	for _, m := range FailoverMutants() {
		t.Run(m.Name, func(t *testing.T) {
			if !seen[m.Scope] {
				seen[m.Scope] = true
				clean(t, SearchFailovers(m.Scope, FailoversNone, Limits{States: statesOf(*machineStates, 30_000)}), true)
			}
		})
	}
}

// TestRecordScopes explores small scopes, to their end with -long.
func TestRecordScopes(t *testing.T) {
	skipUnderRace(t)
	for _, s := range RecordScopes() {
		t.Run(s.Name, func(t *testing.T) { clean(t, SearchRecords(s, RecordsNone, within(smallStates)), !long.Enabled()) })
	}
	for _, s := range FailoverScopes() {
		t.Run(s.Name, func(t *testing.T) {
			clean(t, SearchFailovers(s, FailoversNone, within(smallStates)),
				!long.Enabled())
		})
	}
}

// TestLargeRecords explores large scopes as far as time allows.
func TestLargeRecords(t *testing.T) {
	skipLarge(t)
	records, failovers := LargeRecordScopes(), LargeFailoverScopes()
	limits := largeLimits(len(records)+len(failovers), largeStates)
	for _, s := range records {
		t.Run(s.Name, func(t *testing.T) { clean(t, SearchRecords(s, RecordsNone, limits), true) })
	}
	for _, s := range failovers {
		t.Run(s.Name, func(t *testing.T) { clean(t, SearchFailovers(s, FailoversNone, limits), true) })
	}
}
