package plan

import (
	"slices"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// placeDurably places partitions on members, each on at least one durable member if there is one
// (D11): where the ring selects none, a durable member takes the last place.
func placeDurably(members, durable []roster.MemberID, partitions, copies int) [][]roster.MemberID {
	placed := Place(members, partitions, copies)
	if len(durable) == 0 || len(durable) == len(members) {
		return placed
	}
	instead := Place(durable, partitions, 0)
	for id, replicas := range placed {
		if !slices.ContainsFunc(replicas, func(m roster.MemberID) bool { return slices.Contains(durable, m) }) {
			replicas = slices.Clone(replicas)
			replicas[len(replicas)-1] = instead[id][0]
			placed[id] = replicas
		}
	}
	return placed
}

// keepsDisk reports whether a replica must not be dropped yet because of its disk: no other in-sync
// replica has a disk (a named one, if this one's is named), and some other durable member can
// become such a replica.
func (v *view) keepsDisk(p roster.Partition, i roster.Incarnation) bool {
	named := slices.Contains(p.Disk, i.Member())
	if !v.durable[i] || slices.ContainsFunc(p.InSync, func(other roster.Incarnation) bool {
		return other != i && v.durable[other] && (!named || slices.Contains(p.Disk, other.Member()))
	}) {
		return false
	}
	return slices.ContainsFunc(v.staying, func(other roster.Incarnation) bool {
		return other != i && v.durable[other] && !slices.Contains(v.s.Leave, other)
	})
}

// rekeep updates the voters that keep definitions in memory, if no member has a disk.
func rekeep(r *roster.Roster, s Sight, c *roster.Change) {
	durable := func(m roster.Member) bool { return m.Durable }
	if len(s.Keepers) == 0 || slices.Equal(s.Keepers, r.Keepers) || slices.ContainsFunc(r.Members, durable) ||
		slices.ContainsFunc(c.Join, durable) {
		return
	}
	c.Keepers = s.Keepers
}

// persisted returns, in order, the partitions whose disks are to be named, as reported by their
// owners at this version.
func (v *view) persisted(c roster.Change) []roster.PartitionID {
	var out []roster.PartitionID
	for _, s := range v.s.Persisted {
		lost := slices.ContainsFunc(c.Lose, func(l roster.Loss) bool { return l.Partition == s.Partition })
		if s.Version != v.r.Version || lost || int(s.Partition) >= len(v.r.Partitions) {
			continue
		}
		disks := v.r.Storage(s.Partition).Members()
		if len(disks) > 0 && !slices.Equal(disks, v.r.Partitions[s.Partition].Disk) {
			out = append(out, s.Partition)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
