package gridtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// split cuts two sides of a grid from each other.
func split(g *gridtest.Grid, side, other []string) {
	for _, a := range side {
		for _, b := range other {
			g.Network.Cut(a, b)
		}
	}
}

// lonePair returns two members, the others, and n names whose only replicas are at the two.
func lonePair(t *testing.T, g *gridtest.Grid, n int) (pair, others, names []string) {
	t.Helper()
	all := g.Member("m1").Status().Partitions
	at := map[string][]string{} // by the replicas
	for i := range 10_000 {
		name := fmt.Sprint("orders-", i)
		replicas := all[roster.PartitionOf(name, len(all))].InSync
		set := fmt.Sprint(replicas)
		if at[set] = append(at[set], name); len(replicas) == 2 && len(at[set]) == n {
			names = at[set]
			break
		}
	}
	if names == nil {
		t.Fatalf("no two members have all replicas of %d names", n)
	}
	for _, i := range all[roster.PartitionOf(names[0], len(all))].InSync {
		pair = append(pair, nameOf(g, i))
	}
	others = slices.DeleteFunc(g.Running(), func(name string) bool { return slices.Contains(pair, name) })
	return pair, others, names
}

// memoryOnly starts five members without data directories.
func memoryOnly(t *testing.T) *gridtest.Grid {
	g := gridtest.Start(t, gridtest.Config{Members: 5, Logger: logger(), Change: func(_ string, c *grid.Config) {
		c.FirstLife, c.Window, c.Voters, c.Backups = true, 5*time.Second, 5, 1
	}})
	time.Sleep(10 * time.Second)
	return g
}

// TestSplitForksNoDefinition: without data directories, names whose replicas are all on the
// smaller side of a split stay known on the larger one, which has a majority of the voters.
// It refuses them with another epoch, and the two sides issue no equal IDs.
func TestSplitForksNoDefinition(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := memoryOnly(t)
		small, large, names := lonePair(t, g, 6)
		gone, names := names[0], names[1:]
		ids := newChecker(t)
		var handles []*sequencer.Sequencer
		for _, name := range append([]string{gone}, names...) {
			s := create(t, g.Member(small[0]), name, 0)
			ids.caller("small "+name).must(s, 10)
			handles = append(handles, s)
		}
		ok(t, "destroy", handles[0].Destroy(within(t, time.Minute)))
		split(g, large, small)
		time.Sleep(time.Second)
		for _, name := range names {
			expectConflict(t, g.Member(large[0]), name)
			ids.caller("large "+name).must(create(t, g.Member(large[0]), name, 0), 1000)
		}
		if _, err := g.Member(large[1]).OpenSequencer(within(t, time.Minute), gone); !errors.Is(err, sequencer.ErrNotFound) {
			t.Errorf("open of a destroyed name: %v, want ErrNotFound", err)
		}
		g.Network.HealAll()
		time.Sleep(10 * time.Second)
		for i, name := range names {
			expectConflict(t, g.Member(small[0]), name)
			ids.caller("small again "+name).must(handles[i+1], 1000)
		}
	})
}

// TestSmallerSideAnswersNoCreate: the side of a split without a majority of the voters
// answers no create, at the moment of the cut and later.
func TestSmallerSideAnswersNoCreate(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := memoryOnly(t)
		small, large, names := lonePair(t, g, 6)
		split(g, large, small)
		for _, name := range names {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			if _, err := g.Member(small[0]).CreateSequencer(ctx, name, sequencer.Config{}); err == nil {
				t.Errorf("the smaller side has created %q", name)
			}
			cancel()
			_, err := g.Member(large[0]).CreateSequencer(within(t, time.Minute), name, otherEpoch)
			ok(t, "create on the larger side", err)
		}
	})
}

// TestOwnersAndBackupsCrash: without data directories, the definitions of names whose owner
// and backup crash together are known to a majority of the voters.
func TestOwnersAndBackupsCrash(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := memoryOnly(t)
		pair, others, names := lonePair(t, g, 5)
		c := g.Client("c1")
		for _, name := range names {
			create(t, c, name, 0)
		}
		ok(t, "close", c.Close()) // nothing shows the names afterwards
		for range 2 {             // others have to keep them then
			g.Crash(pair...)
			for _, name := range names {
				expectConflict(t, g.Member(others[2]), name)
			}
			g.StartMembers(pair...)
			time.Sleep(30 * time.Second)
		}
		g.Crash(others[:2]...)
		for _, name := range names {
			expectConflict(t, g.Member(others[2]), name)
		}
	})
}
