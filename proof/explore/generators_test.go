package explore

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/long"
)

// TestGeneratorMutants leaves out one rule of docs/grants.md after the other: each must be missed.
func TestGeneratorMutants(t *testing.T) {
	skipUnderRace(t)
	for _, m := range GeneratorMutants() {
		t.Run(m.Name, func(t *testing.T) {
			missed(t, SearchGenerators(m.Scope, m.Weak, m.Breaks, Limits{States: 500_000}), m.Rule, m.Steps)
		})
	}
}

// TestGeneratorMutantScopes explores the scopes of the mutants with every rule in force: an ID that
// is forbidden there is due to the mutant.
func TestGeneratorMutantScopes(t *testing.T) {
	skipUnderRace(t)
	seen := map[GeneratorScope]bool{}
	for _, m := range GeneratorMutants() {
		t.Run(m.Name, func(t *testing.T) {
			if !seen[m.Scope] {
				seen[m.Scope] = true
				limits := Limits{States: statesOf(*machineStates, 500_000)}
				clean(t, SearchGenerators(m.Scope, GeneratorsNone, BreaksAny, limits), true)
			}
		})
	}
}

// TestHarmlessGeneratorRules explores scopes completely without a rule that is needed for other kinds
// of IDs alone.
func TestHarmlessGeneratorRules(t *testing.T) {
	skipUnderRace(t)
	for _, m := range GeneratorsHarmless() {
		t.Run(m.Name, func(t *testing.T) {
			t.Logf("rule %s: %s", m.Rule, m.Reason)
			for _, kind := range m.Kinds {
				clean(t, SearchGenerators(m.Scope, m.Weak, kind, Limits{States: generatorStates}), false)
			}
		})
	}
}

// TestEveryGeneratorRule requires a mutant or a reason for each rule, and a mutant for each weakness.
func TestEveryGeneratorRule(t *testing.T) {
	var rules []string
	tried := map[GeneratorWeakness]bool{}
	for _, m := range GeneratorMutants() {
		rules, tried[m.Weak] = append(rules, m.Rule), true
	}
	for _, m := range GeneratorsHarmless() {
		tried[m.Weak] = true
	}
	for part := range generatorsUnseen {
		rule, _, _ := strings.Cut(part, ",")
		rules = append(rules, rule)
	}
	for n := 1; n <= 12; n++ {
		if rule := fmt.Sprintf("G%d", n); !slices.Contains(rules, rule) {
			t.Errorf("rule %s has neither a mutant nor a reason", rule)
		}
	}
	for w := GeneratorsNone + 1; w < generatorWeaknesses; w++ {
		if !tried[w] {
			t.Errorf("weakness %d is tried by no mutant", w)
		}
	}
}

// generatorStates bounds a scope that is explored to its end.
const generatorStates = 6_000_000

// TestGeneratorScopes explores small scopes to their end, wide ones with -long.
func TestGeneratorScopes(t *testing.T) {
	skipUnderRace(t)
	for _, s := range GeneratorScopes() {
		t.Run(s.Name, func(t *testing.T) {
			limits := Limits{States: generatorStates}
			if s.Wide {
				limits = within(generatorStates)
			}
			clean(t, SearchGenerators(s, GeneratorsNone, BreaksAny, limits), s.Wide && !long.Enabled())
		})
	}
}

// TestLargeGenerators explores large scopes as far as time allows.
func TestLargeGenerators(t *testing.T) {
	skipLarge(t)
	for _, s := range LargeGeneratorScopes() {
		t.Run(s.Name, func(t *testing.T) {
			clean(t, SearchGenerators(s, GeneratorsNone, BreaksAny, largeLimits(len(LargeGeneratorScopes()), largeStates/3)),
				true)
		})
	}
}

// TestGeneratorFingerprints compares the steps from two states with one fingerprint, in the states
// near the start of each scope: they lead to states with equal fingerprints.
func TestGeneratorFingerprints(t *testing.T) {
	skipUnderRace(t)
	for _, s := range GeneratorScopes() {
		t.Run(s.Name, func(t *testing.T) {
			l := &generatorLab{scope: s, owners: newGrantOwners(s)}
			known := map[string][]string{} // by fingerprint: those one step away
			worlds := []generatorWorld{l.start()}
			for at := 0; at < len(worlds) && len(worlds) < long.Or(1_000, 30_000); at++ {
				l.steps(&worlds[at], func(next *generatorWorld, format string, args ...any) {
					print, steps := string(l.append(nil, next)), l.fingerprints(next)
					if have, found := known[print]; !found {
						known[print], worlds = steps, append(worlds, *next)
					} else if !slices.Equal(have, steps) {
						t.Fatalf("two states with one fingerprint have other steps after "+format, args...)
					}
				})
			}
			t.Logf("%d states", len(worlds))
		})
	}
}

// fingerprints returns the fingerprints of the states one step away.
func (l *generatorLab) fingerprints(w *generatorWorld) (all []string) {
	l.steps(w, func(next *generatorWorld, _ string, _ ...any) { all = append(all, string(l.append(nil, next))) })
	return all
}
