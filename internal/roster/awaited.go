package roster

import (
	"slices"
)

// Awaited returns the members whose disks a partition waits for: the named ones,
// if none of them is a member of the grid at the moment. Nothing is known of the
// partition's names then but what holders show, and no create, open or destroy of them
// is answered.
func (r *Roster) Awaited(id PartitionID) []MemberID {
	disk := r.Partitions[id].Disk
	if slices.ContainsFunc(disk, r.Has) {
		return nil
	}
	return disk
}
