package roster

import (
	"maps"
	"slices"
)

// Storage says which members store the definitions of a partition, by one version of the
// roster: the durable in-sync replicas on disk, or, in a grid without data directories, a
// majority of the voters in memory. The zero value says that none does.
type Storage struct {
	// Memory says that they store them in memory.
	Memory bool
	// Next are the members to be named when all of them have the definitions (D4). Sorted.
	Next []Incarnation
	// Needed are the members whose acknowledgement an answer about a name needs (D2): Next, and
	// in memory also those that are named already and are members. Sorted.
	Needed []Incarnation
	// Durable are all members with a data directory, of any partition.
	Durable []Incarnation
}

// Used reports whether answers about names wait until a member is named.
func (s Storage) Used() bool { return s.Memory || len(s.Durable) > 0 }

// Members returns the member IDs of Next, sorted.
func (s Storage) Members() []MemberID {
	members := map[MemberID]bool{}
	for _, i := range s.Next {
		members[i.Member()] = true
	}
	return slices.Sorted(maps.Keys(members))
}

// Storage returns which members store a partition's definitions. Where the grid has durable
// members, memory does not count; nor does it take the place of disks that are named.
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

// keepersOf returns the voters that are to keep a partition's definitions in memory: those
// that are in sync, and others up to a majority. Of the others those come first that keep
// them already, then those that answer, and the partition's number spreads the rest.
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

// keepersMost bounds the voters, which are more than wanted while one is replaced.
const keepersMost = 2 * MaxVoters

// checkKeepers refuses a change to keepers that no leader names.
func (r *Roster) checkKeepers(keepers []Incarnation) error {
	if len(keepers) > 0 && slices.Equal(keepers, r.Keepers) {
		return refused("the voters that keep definitions are the same as before")
	}
	if err := CheckKeepers(keepers); err != nil {
		return refused("%v", err)
	}
	return nil
}

// CheckKeepers reports, as an [ErrInvalid], keepers that no roster can have.
func CheckKeepers(keepers []Incarnation) error {
	if len(keepers) > keepersMost {
		return invalidf("%d voters keep definitions; at most %d", len(keepers), keepersMost)
	}
	for k, i := range keepers {
		if err := i.Check(); err != nil {
			return err
		}
		if k > 0 && keepers[k-1] >= i {
			return invalidf("the voter %s that keeps definitions is out of order or there twice", i)
		}
	}
	return nil
}
