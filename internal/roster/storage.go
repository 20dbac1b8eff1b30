package roster

import (
	"maps"
	"slices"
)

// Storage lists the members that store a partition's definitions at one roster version: the durable
// in-sync replicas on disk, or, in a grid without data directories, a majority of the voters in
// memory. In the zero value no member does.
type Storage struct {
	// Memory reports that the definitions are stored in memory.
	Memory bool
	// Next lists the members to be named when all of them have the definitions (D4). Sorted.
	Next []Incarnation
	// Needed lists the members that must acknowledge before a reply about a name (D2): Next, and in
	// memory also the named members that are in the grid. Sorted.
	Needed []Incarnation
	// Durable lists all members with a data directory, in any partition.
	Durable []Incarnation
}

// Used reports whether replies about names wait until a member is named.
func (s Storage) Used() bool { return s.Memory || len(s.Durable) > 0 }

// Members returns the member IDs in Next, sorted.
func (s Storage) Members() []MemberID {
	members := map[MemberID]bool{}
	for _, i := range s.Next {
		members[i.Member()] = true
	}
	return slices.Sorted(maps.Keys(members))
}

// Storage returns the members that store a partition's definitions. If the grid has durable
// members, memory does not count, and it does not replace named disks either.
func (r *Roster) Storage(id PartitionID) Storage {
	p := r.Partitions[id]
	var s Storage
	for _, m := range r.Members {
		if m.Durable {
			s.Durable = append(s.Durable, m.Incarnation)
		}
	}
	switch {
	case len(s.Durable) > 0:
		s.Next = slices.DeleteFunc(slices.Clone(p.InSync), func(i Incarnation) bool { return !slices.Contains(s.Durable, i) })
		s.Needed = s.Next
	case len(r.Keepers) > 0 && (p.Memory || len(p.Disk) == 0):
		s.Memory, s.Next = true, r.keepersOf(id)
		s.Needed = slices.Clone(s.Next)
		for _, m := range r.Members {
			if p.Memory && slices.Contains(p.Disk, m.Incarnation.Member()) && !slices.Contains(s.Next, m.Incarnation) {
				s.Needed = append(s.Needed, m.Incarnation)
			}
		}
		slices.Sort(s.Needed)
	}
	return s
}

// keepersOf returns the voters that should keep a partition's definitions in memory: the in-sync
// ones, and others up to a majority. Among the others, current keepers come first, then answering
// voters, and the partition's number spreads the rest.
func (r *Roster) keepersOf(id PartitionID) []Incarnation {
	p, voters := r.Partitions[id], r.Keepers
	var out []Incarnation
	add := func(most int, fits func(Incarnation) bool) {
		for k := range voters {
			i := voters[(k+int(id))%len(voters)]
			if _, member := r.Member(i); member && len(out) < most && !slices.Contains(out, i) && fits(i) {
				out = append(out, i)
			}
		}
	}
	answers := func(i Incarnation) bool { return !slices.Contains(r.Unsettled, i) }
	majority := len(voters)/2 + 1
	add(len(voters), func(i Incarnation) bool { return slices.Contains(p.InSync, i) })
	add(majority, func(i Incarnation) bool { return slices.Contains(p.Disk, i.Member()) && answers(i) })
	add(majority, answers)
	add(majority, func(Incarnation) bool { return true })
	slices.Sort(out)
	return out
}

// keepersMost bounds the number of keepers. It exceeds MaxVoters because there are extra voters
// while one is being replaced.
const keepersMost = 2 * MaxVoters

// checkKeepers refuses keepers that no leader proposes.
func (r *Roster) checkKeepers(keepers []Incarnation) error {
	if len(keepers) > 0 && slices.Equal(keepers, r.Keepers) {
		return refused("the voters that keep definitions are unchanged")
	}
	if err := CheckKeepers(keepers); err != nil {
		return refused("%v", err)
	}
	return nil
}

// CheckKeepers returns an [ErrInvalid] for keepers that no roster can have.
func CheckKeepers(keepers []Incarnation) error {
	if len(keepers) > keepersMost {
		return invalidf("%d voters keep definitions; at most %d", len(keepers), keepersMost)
	}
	for k, i := range keepers {
		if err := i.Check(); err != nil {
			return err
		}
		if k > 0 && keepers[k-1] >= i {
			return invalidf("voter %s, which keeps definitions, is a duplicate or out of order", i)
		}
	}
	return nil
}
