package roster

import (
	"slices"

	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// reassign gives partitions to their new owners and replicas, and removes the members in out from
// the in-sync sets. The roster already has its new version and members and still shares its
// partitions with the previous one.
func (r *Roster) reassign(c Change, lossFloor clustertime.Tick, out map[Incarnation]bool) error {
	if c.moves() == 0 && len(out) == 0 {
		return nil
	}
	before := r.Partitions
	r.Partitions = slices.Clone(before)
	for id := range r.Partitions {
		p := &r.Partitions[id]
		p.InSync = without(p.InSync, out)
		if out[p.Joining] {
			p.Joining = ""
		}
	}
	moves := reassignment{Roster: r, before: before, lossFloor: lossFloor, moved: make(map[PartitionID]bool, c.moves())}
	if err := moves.all(c); err != nil {
		return err
	}
	for id, p := range r.Partitions {
		if out[p.Owner] {
			return refused("%s is removed, but partition %d, which it owns, gets no new owner", p.Owner, id)
		}
	}
	return nil
}

// reassignment applies the moves of one change to the next roster.
type reassignment struct {
	*Roster
	before    []Partition
	lossFloor clustertime.Tick
	moved     map[PartitionID]bool
}

// all applies each move in the change, at most one per partition.
func (r *reassignment) all(c Change) error {
	for _, l := range c.Lose {
		if err := r.begin(l.Partition, append(slices.Clone(l.With), l.Owner)...); err != nil {
			return err
		}
		if err := r.lose(l, c.Granted); err != nil {
			return err
		}
	}
	for _, kind := range []struct {
		moves []Replica
		apply func(p *Partition, m Replica, before Partition) error
	}{{c.Take, r.take}, {c.Add, r.add}, {c.Admit, r.admit}, {c.Drop, r.drop}} {
		for _, m := range kind.moves {
			if err := r.begin(m.Partition, m.Member); err != nil {
				return err
			}
			if err := kind.apply(&r.Partitions[m.Partition], m, r.before[m.Partition]); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin checks the conditions common to all moves: the partition exists and is moved once, and the
// replicas in the move are members.
func (r *reassignment) begin(id PartitionID, members ...Incarnation) error {
	if int(id) >= len(r.Partitions) {
		return refused("partition %d does not exist; the grid has %d", id, len(r.Partitions))
	}
	if r.moved[id] {
		return refused("partition %d is moved twice", id)
	}
	r.moved[id] = true
	for _, i := range members {
		if _, found := r.Member(i); !found {
			return refused("partition %d is assigned to %q, which is not a member", id, string(i))
		}
	}
	return nil
}

// lose applies R3.
func (r *reassignment) lose(l Loss, granted clustertime.Tick) error {
	set, floor := append(slices.Clone(l.With), l.Owner), r.lossFloor
	slices.Sort(set)
	if len(slices.Compact(slices.Clone(set))) != len(set) {
		return refused("partition %d is lost to a member twice", l.Partition)
	}
	term := Term(r.Version)
	was := r.Partitions[l.Partition]
	if was.Owner == "" && was.LostTerm > 0 { // no member has granted anything since a reset (A5)
		floor = max(was.Floor, granted)
	}
	disk := was.Disk // after a loss, only these disks have definitions (D3)
	r.Partitions[l.Partition] = Partition{
		Owner: l.Owner, InSync: set, Term: term, Floor: floor, LostTerm: term, Disk: disk}
	r.Partitions[l.Partition].Memory = was.Memory
	return nil
}

// take applies R2. The in-sync set is the old one without the removed members, so every replica in
// it has every acknowledged operation.
func (r *reassignment) take(p *Partition, m Replica, before Partition) error {
	switch {
	case !slices.Contains(before.InSync, m.Member):
		return refused("partition %d cannot move to %s, which is not in sync", m.Partition, m.Member)
	case p.Owner == m.Member:
		return refused("partition %d cannot move to %s, which already owns it", m.Partition, m.Member)
	}
	p.Owner, p.Term, p.Floor = m.Member, Term(r.Version), r.Ceiling
	return nil
}

// add starts a join (R5).
func (r *reassignment) add(p *Partition, m Replica, _ Partition) error {
	if p.Owner == "" || slices.Contains(p.InSync, m.Member) || p.Joining == m.Member {
		return refused("partition %d has no owner, or %s is already its replica", m.Partition, m.Member)
	}
	p.Joining = m.Member
	return nil
}

// admit completes a join (R5).
func (r *reassignment) admit(p *Partition, m Replica, _ Partition) error {
	if p.Joining != m.Member {
		return refused("%s cannot be admitted to partition %d, which it does not join", m.Member, m.Partition)
	}
	p.InSync = append(slices.Clone(p.InSync), m.Member)
	slices.Sort(p.InSync)
	p.Joining = ""
	return nil
}

// drop applies R4.
func (r *reassignment) drop(p *Partition, m Replica, _ Partition) error {
	switch {
	case p.Joining == m.Member:
		p.Joining = ""
	case p.Owner == m.Member || !slices.Contains(p.InSync, m.Member):
		return refused("%s cannot be dropped from partition %d: it is the owner, or not a replica", m.Member, m.Partition)
	default:
		p.InSync = without(p.InSync, map[Incarnation]bool{m.Member: true})
	}
	return nil
}

// without returns the set without the members in out; the same slice if it contains none of them.
func without(set []Incarnation, out map[Incarnation]bool) []Incarnation {
	isOut := func(i Incarnation) bool { return out[i] }
	if !slices.ContainsFunc(set, isOut) {
		return set
	}
	return slices.DeleteFunc(slices.Clone(set), isOut)
}
