package backup

import (
	"slices"

	"github.com/snowgrid/snowgrid/roster"
)

// Definitions outlive all replicas on the disks of the durable ones. What may be
// answered rests on them as well, and the roster names the disks that may be relied
// on after a loss (D1 to D6).

// Version returns the version of the newest roster known.
func (r *Replica[S, C]) Version() roster.Version { return r.version }

// IsDurable reports whether this process has a data directory, by the newest roster.
func (r *Replica[S, C]) IsDurable() bool { return r.isDurable(r.self) }

func (r *Replica[S, C]) isDurable(i roster.Incarnation) bool { return slices.Contains(r.durable, i) }

// observeDurable keeps, of the durable members, those that have to do with the partition.
func (r *Replica[S, C]) observeDurable(durable []roster.Incarnation) {
	r.someDurable = len(durable) > 0
	r.durable = slices.DeleteFunc(slices.Clone(durable), func(i roster.Incarnation) bool { return i != r.self && !r.entry.Keeps(i) })
}

// Storable returns the position of the table if it is of use on disk: it is of the
// newest term known, and newer than what is there.
func (r *Replica[S, C]) Storable() (Position, bool) {
	p := r.position
	return p, p.Term > 0 && p.Term == r.newest && p.Compare(r.stored) > 0
}

// Stored notes that a table is on this process's disk, and counts it if the replica
// acts. It reports whether an owner may be told: only while the table is of the
// newest term known (D1). A later term was begun without what the disk got since, and
// may have been shown the disk as it was.
func (r *Replica[S, C]) Stored(p Position) bool {
	if p.Term != r.newest {
		return false
	}
	if p.Compare(r.stored) > 0 {
		r.stored = p
	}
	r.StoredBy(r.self, p)
	return true
}

// OnDisk returns the position of the table that is on this process's disk, as far as an
// owner may be told (D1), and else the zero value.
func (r *Replica[S, C]) OnDisk() Position {
	if r.stored.Term != r.newest {
		return Position{}
	}
	return r.stored
}

// StoredBy notes that a replica has a table of this term on its disk.
func (r *Replica[S, C]) StoredBy(from roster.Incarnation, p Position) {
	if !r.Acts() || p.Term != r.office || p.Number > r.position.Number {
		return
	}
	if had, said := r.disks[from]; !said || p.Number > had {
		r.disks[from] = p.Number
	}
}

// Persistent reports whether the definitions as of a number of this term survive the
// loss of every replica: each durable in-sync replica has them on disk, and every disk
// that the roster names is one of theirs (D2). In a grid with durable members a disk
// must be named. In a grid without, nothing is asked for.
func (r *Replica[S, C]) Persistent(number uint64) bool {
	if !r.Acts() {
		return false
	}
	return r.OnAllDisks(number) && len(r.missing()) == 0 && (!r.someDurable || len(r.entry.Disk) > 0)
}

// OnAllDisks reports whether each durable in-sync replica has a number on disk.
func (r *Replica[S, C]) OnAllDisks(number uint64) bool {
	return !slices.ContainsFunc(r.entry.InSync, func(i roster.Incarnation) bool { return r.lacks(i, number) })
}

// lacks reports whether a replica has a disk and not a number on it.
func (r *Replica[S, C]) lacks(i roster.Incarnation, number uint64) bool {
	had, said := r.disks[i]
	return r.isDurable(i) && (!said || had < number)
}

// missing returns the members whose disks are named and that are no durable in-sync
// replica.
func (r *Replica[S, C]) missing() []roster.MemberID {
	var out []roster.MemberID
	for _, m := range r.entry.Disk {
		if !slices.ContainsFunc(r.entry.InSync, func(i roster.Incarnation) bool { return i.Member() == m && r.isDurable(i) }) {
			out = append(out, m)
		}
	}
	return out
}

// Persisted returns what makes the durable in-sync replicas' disks those that the
// roster names: each of them had the table on disk as it was when the newest version
// was learned (D4). It returns false if they are named already, and if there are none.
// Nothing answered so far is younger than that, and what is answered at this version
// waits for the same disks.
func (r *Replica[S, C]) Persisted() (roster.Persisted, bool) {
	if !r.Acts() || !r.OnAllDisks(r.mark) {
		return roster.Persisted{}, false
	}
	inSync, named := 0, 0
	for _, i := range r.entry.InSync {
		if r.isDurable(i) {
			inSync++
			if slices.Contains(r.entry.Disk, i.Member()) {
				named++
			}
		}
	}
	if inSync == 0 || inSync == named && len(r.entry.Disk) == named {
		return roster.Persisted{}, false
	}
	return roster.Persisted{Partition: r.partition, Version: r.version}, true
}

// Disks says how the named disks and the in-sync replicas stand to each other.
type Disks struct {
	Named   []roster.MemberID    // by the newest roster; not to be changed
	Missing []roster.MemberID    // of those, the ones that are no durable in-sync replica's
	Behind  []roster.Incarnation // durable in-sync replicas that do not have a number on disk
	InSync  int                  // durable in-sync replicas
}

// Disks tells which disks an answer that rests on a number of this term waits for.
func (r *Replica[S, C]) Disks(number uint64) Disks {
	d := Disks{Named: r.entry.Disk, Missing: r.missing()}
	for _, i := range r.entry.InSync {
		if r.isDurable(i) {
			d.InSync++
		}
		if r.lacks(i, number) {
			d.Behind = append(d.Behind, i)
		}
	}
	return d
}

// MayShow reports whether this member may show its disk to the owner of a term that
// began after the loss of term lost: it knows a term not older than the loss, so from
// now on it tells no owner of an earlier term that something is on its disk (D6).
func (r *Replica[S, C]) MayShow(term, lost roster.Term) error {
	switch {
	case term < r.newest:
		return ErrOldTerm
	case lost == 0 || r.newest < lost:
		return ErrNotYet
	}
	return nil
}

// OwnerOf returns the owner of a term, if the newest roster is of that term.
func (r *Replica[S, C]) OwnerOf(term roster.Term) (roster.Incarnation, bool) {
	return r.entry.Owner, r.entry.Term == term && r.entry.Owner != ""
}

// JoinerOnDisk reports whether the joining replica, if it is durable, has on its disk
// what admits it: nothing then waits for its first write.
func (r *Replica[S, C]) JoinerOnDisk() bool {
	return r.entry.Joining == "" || !r.lacks(r.entry.Joining, r.mark)
}
