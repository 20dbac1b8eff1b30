package plan

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/internal/rostertest"
)

// TestPlanApartFromTheDisk: answers about a name wait for every disk that is named, so an owner that
// does not reach the members with a disk gives way to one that does, and has one of them in sync
// (simulation of anchored grids, seeds 18 and 54).
func TestPlanApartFromTheDisk(t *testing.T) {
	for _, c := range []struct {
		durable []string
		backups int
		apart   []string
	}{
		{[]string{"a1"}, 1, []string{"ab"}},
		{[]string{"a1"}, 2, []string{"ab"}},
		{[]string{"a1"}, 3, []string{"ab", "cd"}},
		{[]string{"a1", "d1"}, 1, []string{"ab"}},
		{[]string{"a1", "d1"}, 2, []string{"ab", "ac"}},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			join := rostertest.Records([]string{"a1", "b1", "c1", "d1", "e1"})
			for i := range join {
				join[i].Durable = slices.Contains(rostertest.Incarnations(c.durable), join[i].Incarnation)
			}
			r := rostertest.Raise(t, rostertest.Formed(t, 24, roster.DefaultWindow), 5_000)
			r.Settings.Backups = c.backups
			r = step(t, r, Sight{Join: join, Assign: true})
			r = settle(t, rostertest.Raise(t, r, r.Ceiling+1), Sight{})
			s := Sight{Apart: pairs(c.apart...)}
			r = settle(t, r, s)
			for id, p := range r.Partitions {
				for _, m := range join {
					named := slices.Contains(p.Disk, m.Incarnation.Member())
					if named && slices.Contains(s.Apart, PairOf(p.Owner, m.Incarnation)) {
						t.Errorf("partition %d: owner %s does not reach %s, whose disk is named", id, p.Owner, m.Incarnation)
					}
					if named && !slices.Contains(p.InSync, m.Incarnation) {
						t.Errorf("partition %d: the disk of %s is named, and %v are in sync", id, m.Incarnation, p.InSync)
					}
				}
			}
		})
	}
}

// TestPlanApartDisksRest: whichever members have disks, and whichever do not reach each other, the plan
// comes to rest, also when they are others then.
func TestPlanApartDisksRest(t *testing.T) {
	formed := rostertest.Raise(t, rostertest.Formed(t, 8, roster.DefaultWindow), 5_000)
	rapid.Check(t, func(t *rapid.T) {
		r := *formed
		r.Settings.Backups = rapid.IntRange(1, 3).Draw(t, "backups")
		join := rostertest.Records([]string{"a1", "b1", "c1", "d1", "e1"})
		for i := range join {
			join[i].Durable = rapid.Bool().Draw(t, "durable")
		}
		at := settle(t, &r, Sight{Join: join, Assign: true})
		for range 3 {
			s := Sight{}
			for i := range join {
				for k := range i {
					if rapid.IntRange(0, 3).Draw(t, "apart") == 0 {
						s.Apart = append(s.Apart, PairOf(join[i].Incarnation, join[k].Incarnation))
					}
				}
			}
			at = settle(t, at, s)
		}
	})
}
