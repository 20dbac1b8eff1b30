package explore

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/long"
)

var (
	largeFor = flag.Duration("large-for", 0,
		"for how long the large scopes of all explorations together are explored; 0 = not at all")
	rewrite = flag.Bool("rewrite", false, "write testdata again")
)

// skipLarge skips a search that takes any time that it is given.
func skipLarge(t *testing.T) {
	t.Helper()
	if *largeFor == 0 {
		t.Skip("it takes as long as it may: make proof-explore, or go test -C proof ./explore -timeout 3h -large-for 2h")
	}
}

// usualStates bounds each search of a scope with every rule in force, without -long.
const usualStates = 5_000

// within bounds such a search by states, and without -long by fewer.
func within(states int) Limits {
	return Limits{States: long.Or(min(states, usualStates), states)}
}

// statesOf returns how many states a flag asks for: with 0, those within finds usual.
func statesOf(asked, states int) int {
	if asked > 0 {
		return asked
	}
	return within(states).States
}

// slow are the mutants whose searches take a second and more.
var slow = map[string]bool{
	"quarantine without the window":             true,
	"quarantine without D":                      true,
	"return renews the generation":              true,
	"the store ignores conditions":              true,
	"the record is deleted":                     true,
	"push before commit, seen by grants alone":  true,
	"floor from an older read than the command": true,
}

// skipSlow skips the search for a slow mutant without -long.
func skipSlow(t *testing.T, mutant string) {
	t.Helper()
	if slow[mutant] {
		long.Only(t, "it takes seconds")
	}
}

// skipUnderRace skips a test that has one goroutine only and would take many times longer.
func skipUnderRace(t *testing.T) {
	if raceDetector {
		t.Skip("one goroutine, nothing to race with; run it without -race")
	}
}

// smallStates bounds a scope that is explored to its end. The largest has half of it; one
// with more has a machine that counts something on and on, which the encoding should leave out.
const smallStates = 800_000

// TestNoDuplicate explores small scopes, to their end with -long.
func TestNoDuplicate(t *testing.T) {
	skipUnderRace(t)
	for _, s := range Scopes() {
		t.Run(s.Name, func(t *testing.T) {
			if r := explore(t, s, within(smallStates)); !r.Exhausted && long.Enabled() {
				t.Error("ended before everything was seen")
			}
		})
	}
}

// TestLarge explores large scopes as far as time allows.
func TestLarge(t *testing.T) {
	skipLarge(t)
	for _, s := range LargeScopes() {
		t.Run(s.Name, func(t *testing.T) { explore(t, s, largeLimits(len(LargeScopes()), largeStates)) })
	}
}

const (
	// families is how many explorations have large scopes: they share the time.
	families = 6
	// largeStates keeps a large exploration below about 4 GiB.
	largeStates = 30_000_000
)

// largeLimits are those of one of a family's large scopes.
func largeLimits(scopes, states int) Limits {
	return Limits{Time: *largeFor / families / time.Duration(scopes), States: states}
}

func explore(t *testing.T, s Scope, limits Limits) Result {
	t.Helper()
	r, err := Explore(s, None, limits)
	if err != nil {
		t.Fatal(err)
	}
	end := "up to there"
	if r.Exhausted {
		end = "exhausted"
	}
	t.Logf("%d states, %d steps deep, %s; machines run %d times; %v", r.States, r.Steps, end, r.Runs,
		r.Took.Round(time.Millisecond))
	if r.Duplicate != "" {
		t.Errorf("%s\n%s\n%s", r.Duplicate, Legend, strings.Join(r.Trace, "\n"))
	}
	return r
}

// TestMutants leaves out one rule after the other: each must be missed.
func TestMutants(t *testing.T) {
	t.Log(Legend)
	seen := map[Weakness]bool{}
	for _, m := range Mutants() {
		if seen[m.Weak] = true; m.Weak == InMachine {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			if raceDetector && m.Scope.Wide {
				t.Skip("too wide under the race detector; there is one goroutine here")
			}
			skipSlow(t, m.Name)
			r, err := Explore(m.Scope, m.Weak, Limits{States: 2_000_000})
			if err != nil {
				t.Fatal(err)
			}
			if r.Duplicate == "" {
				t.Fatalf("rule %s: no duplicate in %d states, %d steps deep", m.Rule, r.States, r.Steps)
			}
			t.Logf("rule %s: a duplicate after %d steps, %d states\n%s", m.Rule, r.Steps, r.States, strings.Join(r.Trace, "\n"))
		})
	}
	for w := InMachine + 1; w < weaknesses; w++ {
		if !seen[w] {
			t.Errorf("weakness %d is tried by no mutant", w)
		}
	}
}

// TestMutantScopes explores the scopes of the mutants with every rule in force: what
// is found there is due to the mutant. Most of them are seen to their end.
func TestMutantScopes(t *testing.T) {
	skipUnderRace(t)
	seen, ended := map[Scope]bool{}, 0
	for _, m := range Mutants() {
		t.Run(m.Name, func(t *testing.T) {
			if seen[m.Scope] {
				return
			}
			seen[m.Scope] = true
			if r := explore(t, m.Scope, within(150_000)); r.Exhausted {
				ended++
			}
		})
	}
	t.Logf("%d scopes, %d to their end", len(seen), ended)
}

// TestStory holds one story against the one in testdata, which is there to be read.
func TestStory(t *testing.T) {
	const file = "testdata/joiner_admitted_early.txt"
	for _, m := range Mutants() {
		if m.Weak != JoinerAdmittedEarly {
			continue
		}
		r, err := Explore(m.Scope, m.Weak, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		story := m.Name + " (" + m.Rule + ")\n\n" + Legend + "\n\n" + strings.Join(r.Trace, "\n") + "\n"
		if *rewrite {
			if err := os.WriteFile(file, []byte(story), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if story != string(want) {
			t.Errorf("the story is another now; see whether it is as good, and run with -rewrite\n%s", story)
		}
	}
}
