package roster

import (
	"slices"
)

// Awaited returns the members whose disks a partition waits for: the named ones, if none of them is
// currently in the grid. Meanwhile only holders' claims provide its definitions, and creates, opens
// and destroys get no reply.
func (r *Roster) Awaited(id PartitionID) []MemberID {
	disk := r.Partitions[id].Disk
	if slices.ContainsFunc(disk, r.Has) {
		return nil
	}
	return disk
}
