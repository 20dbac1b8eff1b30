package grid

import (
	"cmp"
	"slices"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// DiskInfo is one member's disk on which definitions rest.
type DiskInfo struct {
	Member     string `json:"member"`
	Name       string `json:"name,omitempty"` // for operators, "" if unknown here
	Partitions int    `json:"partitions"`     // partitions whose definitions it has
	Alone      int    `json:"alone"`          // partitions whose definitions no other disk has
	Runs       bool   `json:"runs"`           // the member is in the grid
	// Awaited is the number of partitions in which creates, opens and destroys wait for it, or for
	// another member that does not run either.
	Awaited int `json:"awaited"`
}

// disksOf returns the disks that a roster names, by member, and the awaited members without a disk.
func disksOf(r *roster.Roster) []DiskInfo {
	disks := map[roster.MemberID]*DiskInfo{}
	for id, p := range r.Partitions {
		awaited := len(r.Awaited(roster.PartitionID(id))) > 0
		if p.Memory && !awaited {
			continue
		}
		for _, member := range p.Disk {
			d := disks[member]
			if d == nil {
				d = &DiskInfo{Member: string(member), Runs: r.Has(member)}
				disks[member] = d
			}
			d.Partitions++
			if len(p.Disk) == 1 {
				d.Alone++
			}
			if awaited {
				d.Awaited++
			}
		}
	}
	out := []DiskInfo{}
	for _, d := range disks {
		out = append(out, *d)
	}
	slices.SortFunc(out, func(a, b DiskInfo) int { return cmp.Compare(a.Member, b.Member) })
	return out
}
