package formation

import (
	"slices"

	"github.com/snowgrid/snowgrid/grid/internal/definitions"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/roster"
)

// A recovery takes the definitions from the directories that are given. Which disks the
// old roster names is not certain: the latest versions may be lost with the majority.
// But a stored table is complete, and of two the one of the later position has all that
// was answered before the other.

// openDefinitions opens the definitions of a directory.
func (d *recoverDir) openDefinitions() (err error) {
	d.definitions, err = definitions.Open(d.path, d.id.Member)
	if err != nil {
		return refusal.Invalid("recover: %v; leave the directory out, and state its member as lost", err)
	}
	if grid := d.definitions.Grid(); d.plan == nil && !grid.IsZero() && grid != d.id.Grid {
		return refusal.Invalid("recover: %s has the definitions of grid %s and the identity of grid %s; put back the files that belong together",
			d.path, grid, gridName(d.id.Grid))
	}
	return nil
}

// close lets go of a directory.
func (d *recoverDir) close() {
	if d.definitions != nil {
		_ = d.definitions.Close()
	}
	_ = d.stores.Close()
}

// disksFor returns, for each of so many partitions, the members whose disks have its
// definitions in the latest version of all, and how many have none although some
// member's disk has, or had.
func disksFor(dirs []*recoverDir, old *roster.Roster) (disks [][]roster.MemberID, lost int, err error) {
	disks = make([][]roster.MemberID, len(old.Partitions))
	for id := range disks {
		var latest definitions.Position
		for _, d := range dirs {
			at, found, err := d.definitions.Position(roster.PartitionID(id))
			if err != nil {
				return nil, 0, refusal.Invalid("recover: %v", err)
			}
			switch c := at.Compare(latest); {
			case !found || c < 0:
			case c > 0:
				latest, disks[id] = at, []roster.MemberID{d.id.Member}
			default:
				disks[id] = append(disks[id], d.id.Member)
			}
		}
		slices.Sort(disks[id])
		if len(disks[id]) == 0 && len(old.Partitions[id].Disk) > 0 {
			lost++
		}
	}
	return disks, lost, nil
}

// adoptDefinitions makes the definitions those of the new grid.
func (p *recoverPlan) adoptDefinitions(d *recoverDir) error {
	return d.definitions.Adopt(p.Grid)
}
