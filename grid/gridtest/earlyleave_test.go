package gridtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// TestLeaveInTheFirstWindow: a member of a grid without data directories leaves as fast before the
// first ID as after it, and so does each that is left.
func TestLeaveInTheFirstWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 4})
		for _, name := range []string{"m4", "m2", "m3", "m1"} {
			began := time.Now()
			if err := g.TryLeave(t.Context(), name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("%s left after %v", name, took)
			} else {
				t.Logf("%s left after %v", name, took)
			}
		}
	})
}
