package sequencer

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/internal/attachment/bridge"
	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// TestRightsAreTheUnion compares rights with a set of single timestamps, and
// holds them against what their comment says of their form.
func TestRightsAreTheUnion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, set, used := newRights(nil), map[clustertime.Tick]bool{}, clustertime.Tick(0)
		for range rapid.IntRange(1, 12).Draw(t, "grants") {
			g := bridge.Grant{From: clustertime.Tick(rapid.Int64Range(0, 30).Draw(t, "from"))}
			g.Until = g.From + clustertime.Tick(rapid.Int64Range(-2, 8).Draw(t, "length"))
			used = max(used, clustertime.Tick(rapid.Int64Range(0, 30).Draw(t, "used")))
			before := slices.Clone(r.grants)
			more := r.with(g, used)
			if !slices.Equal(before, r.grants) {
				t.Fatalf("%v was written to: %v", before, r.grants)
			}
			r = more
			for at := g.From; at < g.Until; at++ {
				set[at] = true
			}
			checkRights(t, r, set, used)
		}
	})
}

func checkRights(t *rapid.T, r *rights, set map[clustertime.Tick]bool, used clustertime.Tick) {
	last := clustertime.Tick(0)
	for i, g := range r.grants {
		if g.Empty() || i > 0 && g.From <= last {
			t.Fatalf("not ascending, or touching: %v", r.grants)
		}
		last = g.Until
	}
	if r.until() != last {
		t.Fatalf("%v end at %d", r.grants, r.until())
	}
	for at := clustertime.Tick(-2); at < 50; at++ {
		if held := r.hold(at); held && !set[at] || !held && set[at] && at > used {
			t.Fatalf("%v hold %d: %v, above %d all of %v should be held", r.grants, at, held, used, set)
		}
		from, found := r.after(at)
		if found && (from <= at || !r.hold(from) || r.hold(from-1)) {
			t.Fatalf("%v: the next begins at %d after %d", r.grants, from, at)
		}
	}
}
