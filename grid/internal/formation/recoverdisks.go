package formation

import (
	"slices"

	"github.com/snowgrid/snowgrid/grid/internal/definitions"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/roster"
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

// disksFor returns, for each partition, the members with the overall latest definitions on disk. It
// records the partitions that have none although a member's disk has, or had, them, and partitions
// with possibly later definitions on a missing disk.
func disksFor(dirs []*recoverDir, old *roster.Roster, record *roster.Recovery) (disks [][]roster.MemberID, err error) {
	disks = make([][]roster.MemberID, len(old.Partitions))
	for i, p := range old.Partitions {
		id := roster.PartitionID(i)
		var latest definitions.Position
		complete := false // a disk is given that the old roster names
		for _, d := range dirs {
			at, found, err := d.definitions.Position(id)
			if err != nil {
				return nil, refusal.Invalid("recover: %v", err)
			}
			complete = complete || found && slices.Contains(p.Disk, d.id.Member)
			switch c := at.Compare(latest); {
			case !found || c < 0:
			case c > 0:
				latest, disks[i] = at, []roster.MemberID{d.id.Member}
			default:
				disks[i] = append(disks[i], d.id.Member)
			}
		}
		slices.Sort(disks[i])
		switch {
		case len(p.Disk) == 0 || complete:
		case len(disks[i]) == 0:
			record.Forgotten = append(record.Forgotten, id)
		default:
			record.Outdated = append(record.Outdated, id)
		}
	}
	return disks, nil
}

// adoptDefinitions assigns the definitions to the new grid.
func (p *recoverPlan) adoptDefinitions(d *recoverDir) error {
	return d.definitions.Adopt(p.Grid)
}
