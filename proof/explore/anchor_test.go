package explore

import (
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/long"
)

// TestAnchorMutants leaves out one rule of anchored grids after the other: each must be
// missed.
func TestAnchorMutants(t *testing.T) {
	skipUnderRace(t)
	for _, m := range AnchorMutants() {
		if m.Weak == AnchorInMachine {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			skipSlow(t, m.Name)
			r := SearchAnchor(m.Scope, m.Weak, Limits{States: 3_000_000})
			if r.Duplicate == "" {
				t.Fatalf("rule %s: nothing wrong in %d states, %d steps deep", m.Rule, r.States, r.Steps)
			}
			t.Logf("rule %s: %d steps, %d states, %v\n%s", m.Rule, r.Steps, r.States, r.Took.Round(time.Millisecond),
				strings.Join(r.Trace, "\n"))
		})
	}
}

// TestAnchorScopes explores small scopes, to their end with -long.
func TestAnchorScopes(t *testing.T) {
	skipUnderRace(t)
	for _, s := range AnchorScopes() {
		t.Run(s.Name, func(t *testing.T) { exploreAnchor(t, s, within(3_000_000), long.Enabled()) })
	}
}

// TestAnchorMutantScopes explores the scopes of the mutants with every rule in force:
// an overlap there is due to the mutant.
func TestAnchorMutantScopes(t *testing.T) {
	skipUnderRace(t)
	seen := map[AnchorScope]bool{}
	for _, m := range AnchorMutants() {
		t.Run(m.Name, func(t *testing.T) {
			if !seen[m.Scope] {
				seen[m.Scope] = true
				exploreAnchor(t, m.Scope, within(anchorMutantStates), false)
			}
		})
	}
}

// anchorMutantStates bounds the search of a mutant's scope.
const anchorMutantStates = 300_000

// TestLargeAnchor explores large scopes as far as time allows.
func TestLargeAnchor(t *testing.T) {
	skipLarge(t)
	for _, s := range LargeAnchorScopes() {
		t.Run(s.Name, func(t *testing.T) {
			exploreAnchor(t, s, largeLimits(len(LargeAnchorScopes()), largeStates/3), false)
		})
	}
}

func exploreAnchor(t *testing.T, s AnchorScope, limits Limits, whole bool) {
	t.Helper()
	r := SearchAnchor(s, AnchorNone, limits)
	if r.Duplicate != "" {
		t.Fatalf("%s\n%s", r.Duplicate, strings.Join(r.Trace, "\n"))
	}
	if whole && !r.Exhausted {
		t.Errorf("%d states, %d steps deep, and not exhausted", r.States, r.Steps)
	}
	t.Logf("%d states, %d steps deep, exhausted %v, %v", r.States, r.Steps, r.Exhausted, r.Took.Round(time.Millisecond))
}
