package record

import (
	"testing"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// TestExtensionReportsUse: an extension records the last tick that its holder used, which
// never falls, and is never one that was not granted.
func TestExtensionReportsUse(t *testing.T) {
	b := Bounds{Now: 1000, Window: 15, Life: NewLife(1, [8]byte{})}
	id := attachment.ID{1}
	r, err := Born(b.Life, "n0").Take(id, "task", "n1", b)
	for _, c := range []struct{ used, want clustertime.Tick }{{0, 0}, {1003, 1003}, {0, 1003}, {1002, 1003},
		{9999, 1014}} {
		b.Used = c.used
		if err == nil {
			r, err = r.Extend(id, nil, "n2", b)
		}
		if err != nil || r.LastUsed != c.want {
			t.Fatalf("after the use of %d: %+v, %v; want %d", c.used, r, err, c.want)
		}
	}
}
