package explore

import (
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/long"
)

// TestNameMutants leaves out one rule about definitions after the other: each must be
// missed.
func TestNameMutants(t *testing.T) {
	skipUnderRace(t)
	seen := map[NameWeakness]bool{}
	for _, m := range NameMutants() {
		if seen[m.Weak] = true; m.Weak == NamesInMachine {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			skipSlow(t, m.Name)
			r, err := SearchNames(m.Scope, m.Weak, Limits{States: 300_000})
			if err != nil {
				t.Fatal(err)
			}
			if r.Duplicate == "" {
				t.Fatalf("rule %s: nothing wrong in %d states, %d steps deep\n%s", m.Rule, r.States, r.Steps,
					strings.Join(r.Trace, "\n"))
			}
			t.Logf("rule %s: %d steps, %d states, %v\n%s", m.Rule, r.Steps, r.States, r.Took.Round(time.Millisecond),
				strings.Join(r.Trace, "\n"))
		})
	}
	for w := NamesInMachine + 1; w < nameWeaknesses; w++ {
		if !seen[w] {
			t.Errorf("weakness %d is tried by no mutant", w)
		}
	}
}

// TestNameScopes explores small scopes, to their end with -long.
func TestNameScopes(t *testing.T) {
	skipUnderRace(t)
	for _, s := range NameScopes() {
		t.Run(s.Name, func(t *testing.T) { exploreNames(t, s, nameStates()) })
	}
}

// TestNameMutantScopes explores the scopes of the mutants with every rule in force: what
// is found there is due to the mutant.
func TestNameMutantScopes(t *testing.T) {
	skipUnderRace(t)
	seen := map[NameScope]bool{}
	for _, m := range NameMutants() {
		t.Run(m.Name, func(t *testing.T) {
			if !seen[m.Scope] {
				seen[m.Scope] = true
				exploreNames(t, m.Scope, nameStates())
			}
		})
	}
}

// TestLargeNames explores large scopes as far as time allows.
func TestLargeNames(t *testing.T) {
	skipLarge(t)
	for _, s := range LargeNameScopes() {
		t.Run(s.Name, func(t *testing.T) { exploreNames(t, s, largeLimits(len(LargeNameScopes()), largeStates/10)) })
	}
}

func exploreNames(t *testing.T, s NameScope, limits Limits) {
	t.Helper()
	s.Disks = true
	r, err := SearchNames(s, NamesNone, limits)
	if err != nil {
		t.Fatal(err)
	}
	end := "up to there"
	if r.Exhausted {
		end = "exhausted"
	}
	t.Logf("%d states, %d steps deep, %s; %v", r.States, r.Steps, end, r.Took.Round(time.Millisecond))
	switch {
	case r.Duplicate != "":
		t.Errorf("%s\n%s", r.Duplicate, strings.Join(r.Trace, "\n"))
	case !r.Exhausted && limits.Time == 0 && long.Enabled():
		t.Error("ended before everything was seen")
	}
}

// nameStates bounds the search of a scope of definitions: their states take longer.
func nameStates() Limits { return Limits{States: long.Or(usualStates/2, 400_000)} }
