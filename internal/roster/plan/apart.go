package plan

import (
	"slices"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// Two members may be unable to reach each other while the leader reaches both. An owner waits for
// its in-sync replicas, so a partition with one such member as owner and the other as replica would
// complete no create. The roster decides (R4): the replica is dropped, and the partition is placed
// so that its owner reaches every other replica.

// cutOff returns the members that cannot reach most others; they count as faulty. Their partitions
// move to members that reach the others.
func (s Sight) cutOff(r *roster.Roster) (out []roster.Incarnation) {
	if len(s.Apart) == 0 {
		return nil
	}
	others := map[roster.Incarnation]int{}
	for _, pair := range s.Apart {
		others[pair.A]++
		others[pair.B]++
	}
	for _, m := range r.Members {
		if 2*others[m.Incarnation] > len(r.Members)-1 {
			out = append(out, m.Incarnation)
		}
	}
	return out
}

// ownsAlone reports whether a partition's owner replies, but is cut off, and no replica can replace
// it: it keeps the partition until one can.
func (v *view) ownsAlone(p roster.Partition) bool {
	return slices.Contains(v.cutOff, p.Owner) && !slices.Contains(v.s.Silent, p.Owner) &&
		!slices.Contains(v.s.Gone, p.Owner) &&
		!slices.ContainsFunc(p.InSync, func(i roster.Incarnation) bool { return v.up[i] })
}

// areApart reports whether two members cannot reach each other.
func (v *view) areApart(a, b roster.Incarnation) bool { return v.apart[PairOf(a, b)] }

// together returns the members for a partition while some cannot reach each other. The owner stays
// as long as it reaches all members that keep the definitions; the ring decides again when all
// reach each other. A backup that the owner cannot reach is replaced by another member. If there is
// none, another replica becomes the owner, if it reaches all; otherwise the partition has fewer
// replicas.
func (v *view) together(id roster.PartitionID, want []roster.Incarnation) []roster.Incarnation {
	if len(v.apart) == 0 || len(want) == 0 {
		return want
	}
	must := v.neededBy(id)
	want = v.ownedBy(id, want, must)
	out := []roster.Incarnation{want[0]}
	for _, backup := range want[1:] {
		if v.areApart(want[0], backup) {
			backup = v.instead(id, want[0], backup, append(slices.Clone(want), out...))
		}
		if backup != "" {
			out = append(out, backup)
		}
	}
	if len(out) == len(want) {
		return out
	}
	for i, owner := range want {
		if v.reachesAll(owner, want) && v.reachesAll(owner, must) {
			return append([]roster.Incarnation{owner}, slices.Delete(slices.Clone(want), i, i+1)...)
		}
	}
	return out
}

// neededBy returns the members that a partition's owner has to reach: the current owner, which
// sends it the table, and the members that keep the definitions, if some member reaches them all.
func (v *view) neededBy(id roster.PartitionID) []roster.Incarnation {
	present := v.r.Partitions[id].Owner
	if present == "" {
		return nil
	}
	must := append([]roster.Incarnation{present}, v.r.Storage(id).Needed...)
	for _, m := range v.r.Partitions[id].Disk { // replies also wait for replicas out of sync
		if i, found := v.current[m]; found {
			must = append(must, i)
		}
	}
	if !slices.ContainsFunc(v.placeable(), func(i roster.Incarnation) bool { return v.up[i] && v.reachesAll(i, must) }) {
		return must[:1]
	}
	return must
}

// ownedBy returns the same number of members, starting with an owner that reaches must: the current
// owner unless it is silent or leaves, else a wanted one, else any.
func (v *view) ownedBy(id roster.PartitionID, want, must []roster.Incarnation) []roster.Incarnation {
	present := v.r.Partitions[id].Owner
	if present == "" {
		return want
	}
	placeable := v.placeable()
	all := append(append([]roster.Incarnation{present}, want...), placeable...)
	at := slices.IndexFunc(all, func(i roster.Incarnation) bool {
		return v.up[i] && slices.Contains(placeable, i) && v.reachesAll(i, must)
	})
	if at < 0 {
		return want
	}
	rest := slices.DeleteFunc(slices.Clone(want), func(i roster.Incarnation) bool { return i == all[at] })
	// A member with a disk is the last to make room.
	slices.SortStableFunc(rest, func(a, b roster.Incarnation) int {
		return like(v.durable[b], true) - like(v.durable[a], true)
	})
	return append([]roster.Incarnation{all[at]}, rest[:min(len(rest), len(want)-1)]...)
}

// partsOwner reports whether a partition's owner would need a voter that it does not reach if a replica were dropped:
// other voters keep the definitions then. A replica that leaves is dropped anyway.
func (v *view) partsOwner(id roster.PartitionID, replica roster.Incarnation) bool {
	if len(v.apart) == 0 || slices.Contains(v.s.Leave, replica) {
		return false
	}
	after := *v.r
	after.Partitions = slices.Clone(v.r.Partitions)
	p := &after.Partitions[id]
	p.InSync = slices.DeleteFunc(slices.Clone(p.InSync), func(i roster.Incarnation) bool { return i == replica })
	return !v.reachesAll(p.Owner, after.Storage(id).Needed)
}

// reachesAll reports whether a member reaches all members in a set.
func (v *view) reachesAll(owner roster.Incarnation, set []roster.Incarnation) bool {
	return !slices.ContainsFunc(set, func(m roster.Incarnation) bool { return v.areApart(owner, m) })
}

// instead returns a member to replace a backup: the owner reaches it and it is not in given. A
// member with a disk and a zone like the backup's is preferred. "" for none.
func (v *view) instead(id roster.PartitionID, owner, backup roster.Incarnation,
	given []roster.Incarnation) (best roster.Incarnation) {
	like := func(i roster.Incarnation) int {
		return 2*like(v.durable[i], v.durable[backup]) + like(v.zone[i], v.zone[backup])
	}
	all := v.placeable()
	for n := range all { // each partition starts at another member, to spread the load
		i := all[(n+int(id))%len(all)]
		if !v.up[i] || v.areApart(owner, i) || slices.Contains(given, i) {
			continue
		}
		if best == "" || like(i) > like(best) {
			best = i
		}
	}
	return best
}

func like[T comparable](a, b T) int {
	if a == b {
		return 1
	}
	return 0
}
