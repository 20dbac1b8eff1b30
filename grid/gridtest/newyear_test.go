package gridtest_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// TestStartInAnyYear: a grid starts, and starts again, in every year in which its IDs last; but not
// with a clock that is twenty years ahead of its data.
func TestStartInAnyYear(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const year = 365 * 24 * time.Hour
		g := gridtest.New(t, gridtest.Config{Members: 1, Durable: true})
		ids := newChecker(t)
		now := time.Duration(0)
		for _, later := range []time.Duration{0, 19 * year, 10 * year} { // 2026, 2045, 2055
			g.StepClock("m1", later)
			now += later
			g.StartMembers("m1")
			s := create(t, g.Member("m1"), "orders", 0)
			if off := timeOf(s, ids.caller("m1").must(s, 1)).Sub(gridtest.Now().Add(now)).Abs(); off > time.Second {
				t.Errorf("%v later the time of an ID is %v off", now, off)
			}
			g.Leave("m1")
		}
		g.StepClock("m1", 21*year)
		if err := g.TryMember(t.Context(), "m1"); !errors.Is(err, clustertime.ErrClock) {
			t.Errorf("a clock 21 years ahead of the data: %v", err)
		}
		g.StepClock("m1", -21*year)
		g.StartMembers("m1")
	})
}
