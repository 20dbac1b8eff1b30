package numbers_test

import (
	"testing"

	"github.com/snowgrid/snowgrid/internal/identity/numbers"
)

// TestGreatestRemovedIncarnationIsKept is N3: of two survivors each may know of a removal that the
// other has not heard of, and no later process may have an incarnation at or below either.
func TestGreatestRemovedIncarnationIsKept(t *testing.T) {
	set := func(next, removed uint64) numbers.Registry {
		return numbers.Registry{Sets: []numbers.Set{{Cluster: "c", Name: "s", Next: next, Removed: removed}}}
	}
	for _, c := range [][2]numbers.Registry{
		{set(3, 9), set(5, 2)}, {set(5, 2), set(3, 9)}, {{}, set(5, 9)}, {set(5, 9), {}},
	} {
		if out := c[0].Merge(c[1]).Sets; len(out) != 1 || out[0].Next != 5 || out[0].Removed != 9 {
			t.Errorf("%+v and %+v give %+v, want next 5 and removed 9", c[0], c[1], out)
		}
	}
}
