package gridtest_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestFollowersApartInMemory: in a grid without data directories two followers do not reach each other,
// while the leader reaches both. Of the partitions that one owns and of which the other is no replica, the
// other keeps the definitions of a third. Their names, too, are created after a few seconds, and later ones
// at once.
func TestFollowersApartInMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 5, Change: func(_ string, c *grid.Config) {
			c.Backups, c.Voters = 1, 5
		}})
		c := g.Client("web")
		_ = create(t, c, "first", 0)
		l := g.Leader()
		eventually(t, time.Minute, "all is settled, and IDs have begun", func() bool {
			s := g.Member(l).Status()
			return s.Settled && s.IDsBegin.IsZero()
		})
		a := other(g, l)
		b := other(g, l, a)
		at := map[string]string{}
		for _, m := range []string{a, b} {
			at[m] = g.Member(m).Status().Answering
		}
		var names []string
		partitions := map[int]bool{}
		for i := range 400 {
			name := fmt.Sprint("name-", i)
			p := partitionOf(g, l, name)
			if (p.Owner == at[a] || p.Owner == at[b]) && slices.Contains(p.InSync, at[a]) != slices.Contains(p.InSync, at[b]) &&
				!partitions[p.ID] {
				names, partitions[p.ID] = append(names, name), true
			}
		}
		if len(names) < 4 {
			t.Fatalf("%d names of %d partitions", len(names), len(g.Member(l).Status().Partitions))
		}
		g.Network.Cut(a, b)
		slow := 0
		for _, name := range names {
			began := time.Now()
			s, err := c.CreateSequencer(within(t, apartLimit), name, sequencer.Config{})
			ok(t, "create "+name, err)
			_, err = s.Next(within(t, time.Second))
			ok(t, "next of "+name, err)
			if took := time.Since(began); took > time.Second {
				slow++
				t.Logf("create %s took %v", name, took)
			}
		}
		if slow > 4 {
			t.Errorf("%d creates of %d took more than a second", slow, len(names))
		}
	})
}
