package gridtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
)

// TestFarMembers: members with a round trip of up to 300 ms start, copy every partition, and leave and start again.
// They are not taken for silent, so the grid settles and stays so. Their IDs are late by about a round trip.
func TestFarMembers(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	delays := []time.Duration{150 * time.Millisecond, 120 * time.Millisecond, 40 * time.Millisecond}
	for _, delay := range delays[:long.Or(1, len(delays))] {
		t.Run(delay.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { farMembers(t, delay) })
		})
	}
}

func farMembers(t *testing.T, delay time.Duration) {
	g := gridtest.New(t, gridtest.Config{Members: 3, Delay: delay,
		Change: func(_ string, c *grid.Config) { c.Partitions, c.FirstLife = 271, true }})
	ids := newChecker(t)
	g.StartMembers(names(3)...)
	check := func() {
		t.Helper()
		since := time.Now()
		eventually(t, 3*time.Minute, "the grid stays settled", func() bool {
			if !g.Member(g.Running()[0]).Status().Settled {
				since = time.Now()
			}
			return time.Since(since) > 20*time.Second
		})
		for _, name := range g.Running() {
			s := create(t, g.Member(name), "orders", 0)
			if late := gridtest.Now().Sub(timeOf(s, ids.caller(name).must(s, 1))); late < 0 || late > 3*delay {
				t.Errorf("an ID of %s is late by %v", name, late)
			}
		}
	}
	check()
	for _, name := range []string{g.Leader(), other(g, g.Leader())} {
		g.Leave(name)
		g.StartMembers(name)
		check()
	}
}
