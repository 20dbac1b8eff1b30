package explore

import (
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/long"
)

// followStates bounds the search of a mutant's scope.
var followStates = flag.Int("follow-states", 0,
	"how many states of a follower mutant's scope are explored with every rule in force; 0 = the usual number")

// TestFollowMutants leaves out one rule for followers of rosters after the other: each must
// be missed.
func TestFollowMutants(t *testing.T) {
	skipUnderRace(t)
	seen := map[FollowWeakness]bool{}
	for _, m := range FollowMutants() {
		if seen[m.Weak] = true; m.Weak == FollowInMachine {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			skipSlow(t, m.Name)
			r := SearchFollow(m.Scope, m.Weak, Limits{States: 500_000})
			if r.Duplicate == "" {
				t.Fatalf("rule %s: nothing wrong in %d states, %d steps deep", m.Rule, r.States, r.Steps)
			}
			t.Logf("rule %s: %d steps, %d states, %v\n%s", m.Rule, r.Steps, r.States, r.Took.Round(time.Millisecond),
				strings.Join(r.Trace, "\n"))
		})
	}
	for w := FollowInMachine + 1; w < followWeaknesses; w++ {
		if !seen[w] {
			t.Errorf("weakness %d is tried by no mutant", w)
		}
	}
}

// TestFollowMutantScopes explores the scopes of the mutants with every rule in force: what
// is found there is due to the mutant.
func TestFollowMutantScopes(t *testing.T) {
	skipUnderRace(t)
	seen := map[FollowScope]bool{}
	for _, m := range FollowMutants() {
		t.Run(m.Name, func(t *testing.T) {
			if !seen[m.Scope] {
				seen[m.Scope] = true
				clean(t, SearchFollow(m.Scope, FollowNone, Limits{States: statesOf(*followStates, 60_000)}), true)
			}
		})
	}
}

// TestFollowScopes explores small scopes, to their end with -long.
func TestFollowScopes(t *testing.T) {
	skipUnderRace(t)
	for _, s := range FollowScopes() {
		t.Run(s.Name, func(t *testing.T) { clean(t, SearchFollow(s, FollowNone, within(smallStates)), !long.Enabled()) })
	}
}

// TestLargeFollow explores large scopes as far as time allows.
func TestLargeFollow(t *testing.T) {
	skipLarge(t)
	for _, s := range LargeFollowScopes() {
		t.Run(s.Name, func(t *testing.T) {
			clean(t, SearchFollow(s, FollowNone, largeLimits(len(LargeFollowScopes()), largeStates/3)), true)
		})
	}
}
