package roster

import "slices"

// Awaits returns the number of partitions that name a member for their definitions, on disk or in
// memory, and the number that name no other member.
func (r *Roster) Awaits(m MemberID) (named, alone int) {
	return awaits(r.Partitions, m, func(Partition) bool { return true })
}

// OnDisk returns the same for partitions with definitions on disk.
func (r *Roster) OnDisk(m MemberID) (named, alone int) {
	return awaits(r.Partitions, m, func(p Partition) bool { return !p.Memory })
}

func awaits(partitions []Partition, m MemberID, counts func(Partition) bool) (named, alone int) {
	for _, p := range partitions {
		if counts(p) && slices.Contains(p.Disk, m) {
			named++
			if len(p.Disk) == 1 {
				alone++
			}
		}
	}
	return named, alone
}

// checkForget rejects giving up the disk of a current member, or a disk that no partition names.
func (r *Roster) checkForget(forget []MemberID) error {
	for i, id := range forget {
		if named, _ := r.Awaits(id); named == 0 {
			return refused("cannot forget %s's disk: no partition lists it", id)
		}
		if slices.Contains(forget[:i], id) {
			return refused("%s's disk is forgotten twice", id)
		}
		if r.Has(id) {
			return refused("cannot forget %s's disk: it is a member", id)
		}
	}
	return nil
}

// redisk updates the named disks after all other changes: adds the disks reported complete at the
// version before, and removes the disks that are given up.
func (r *Roster) redisk(c Change, before *Roster) error {
	if len(c.Persist)+len(c.Strike)+len(c.Forget) == 0 {
		return nil
	}
	if &r.Partitions[0] == &before.Partitions[0] {
		r.Partitions = slices.Clone(before.Partitions)
	}
	persisted := make(map[PartitionID]bool, len(c.Persist))
	for _, id := range c.Persist {
		if persisted[id] {
			return refused("partition %d is listed twice as stored on disk", id)
		}
		persisted[id] = true
		if err := r.persist(id, before); err != nil {
			return err
		}
	}
	for id := range r.Partitions {
		p := &r.Partitions[id]
		if p.LostTerm < Term(r.Version) {
			r.strike(PartitionID(id), c.Strike, before.Partitions[id])
		}
		if slices.ContainsFunc(p.Disk, func(m MemberID) bool { return slices.Contains(c.Forget, m) }) {
			p.Disk = slices.DeleteFunc(slices.Clone(p.Disk), func(m MemberID) bool { return slices.Contains(c.Forget, m) })
		}
	}
	return nil
}

// persist applies D4: the members that store the definitions by the version before become the
// partition's.
func (r *Roster) persist(id PartitionID, before *Roster) error {
	if int(id) >= len(r.Partitions) {
		return refused("partition %d does not exist; the grid has %d", id, len(r.Partitions))
	}
	if r.Partitions[id].LostTerm == Term(r.Version) {
		return refused("partition %d is listed as stored on disk, but is lost", id)
	}
	stored := before.Storage(id)
	disk := stored.Members()
	if len(disk) == 0 {
		return refused("partition %d is listed as stored on disk, but no durable replica is in sync", id)
	}
	r.Partitions[id].Disk, r.Partitions[id].Memory = disk, stored.Memory
	return nil
}

// strike applies D3 to one partition: it removes the disks of dead members that have left the
// in-sync set, if an in-sync replica's disk stays.
func (r *Roster) strike(id PartitionID, dead []MemberID, before Partition) {
	p := &r.Partitions[id]
	inSync := func(p Partition, m MemberID) bool {
		return slices.ContainsFunc(p.InSync, func(i Incarnation) bool { return i.Member() == m })
	}
	kept := slices.DeleteFunc(slices.Clone(p.Disk), func(m MemberID) bool {
		return slices.Contains(dead, m) && inSync(before, m) && !inSync(*p, m)
	})
	if len(kept) < len(p.Disk) && slices.ContainsFunc(kept, func(m MemberID) bool { return inSync(*p, m) }) {
		p.Disk = kept
	}
}

// Has reports whether any incarnation of a member ID is in the grid.
func (r *Roster) Has(id MemberID) bool {
	return slices.ContainsFunc(r.Members, func(m Member) bool { return m.Incarnation.Member() == id })
}
