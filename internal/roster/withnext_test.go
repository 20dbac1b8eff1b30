package roster_test

import (
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// TestGreatestRemovedIncarnationIsKept is N3: of two survivors each may know of a removal that the
// other has not heard of, and no later process may have an incarnation at or below either.
func TestGreatestRemovedIncarnationIsKept(t *testing.T) {
	set := func(next, removed uint64) []roster.Set {
		return []roster.Set{{Cluster: "c", Name: "s", Next: next, Removed: removed}}
	}
	for _, c := range []struct{ a, b []roster.Set }{
		{set(3, 9), set(5, 2)}, {set(5, 2), set(3, 9)}, {nil, set(5, 9)}, {set(5, 9), nil},
	} {
		if out := roster.WithNext(c.a, c.b); len(out) != 1 || out[0].Next != 5 || out[0].Removed != 9 {
			t.Errorf("%+v and %+v give %+v, want next 5 and removed 9", c.a, c.b, out)
		}
	}
}
