package backup

import (
	"slices"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// Definitions survive the loss of all replicas on the durable replicas' disks. Replies depend on
// these disks too, and the roster names the disks that can be relied on after a loss (D1 to D6).

// Version returns the newest observed roster version.
func (r *Replica[S, C]) Version() roster.Version { return r.version }

// Storage returns which members store the definitions, by the newest roster; read only.
func (r *Replica[S, C]) Storage() roster.Storage { return r.storage }

// IsDurable reports whether this process has a data directory, by the newest roster.
func (r *Replica[S, C]) IsDurable() bool { return slices.Contains(r.storage.Durable, r.self) }

// InMemory reports whether the named members have the definitions in memory.
func (r *Replica[S, C]) InMemory() bool { return r.entry.Memory }

// IsKeeper reports whether an owner needs the definitions in the memory of this process.
func (r *Replica[S, C]) IsKeeper() bool {
	return r.storage.Memory && slices.Contains(r.storage.Needed, r.self)
}

// Storable returns the table's position, and whether it should be written to disk: it has the
// newest observed term, and is newer than the table on disk.
func (r *Replica[S, C]) Storable() (Position, bool) {
	p := r.position
	return p, p.Term > 0 && p.Term == r.newest && p.Compare(r.stored) > 0
}

// Stored records that a table is on this process's disk, and counts it if the replica acts. It
// reports whether an owner may be notified: only while the table has the newest observed term (D1).
// A later term began without later writes to this disk, and may have read the disk before them.
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

// OnDisk returns the position of the table on this process's disk if an owner may be notified (D1),
// else the zero value.
func (r *Replica[S, C]) OnDisk() Position {
	if r.stored.Term != r.newest {
		return Position{}
	}
	return r.stored
}

// StoredBy records that a replica has a table of this term on its disk.
func (r *Replica[S, C]) StoredBy(from roster.Incarnation, p Position) {
	if !r.Acts() || p.Term != r.ownTerm || p.Number > r.position.Number {
		return
	}
	if had, said := r.disks[from]; !said || p.Number > had {
		r.disks[from] = p.Number
	}
}

// Persistent reports whether the definitions up to a number in this term survive the loss of every
// replica: each member that stores them has stored that number, and so has every member that the
// roster names (D2). One must be named, unless no member stores definitions.
func (r *Replica[S, C]) Persistent(number uint64) bool {
	if !r.Acts() {
		return false
	}
	return r.OnAllDisks(number) && len(r.missing()) == 0 && (!r.storage.Used() || len(r.entry.Disk) > 0)
}

// OnAllDisks reports whether each member that stores the definitions has stored a number.
func (r *Replica[S, C]) OnAllDisks(number uint64) bool {
	return !slices.ContainsFunc(r.storage.Needed, func(i roster.Incarnation) bool { return r.lacks(i, number) })
}

// lacks reports whether a member has not stored a number.
func (r *Replica[S, C]) lacks(i roster.Incarnation, number uint64) bool {
	had, said := r.disks[i]
	return !said || had < number
}

// missing returns the named members that cannot acknowledge.
func (r *Replica[S, C]) missing() []roster.MemberID {
	var out []roster.MemberID
	for _, m := range r.entry.Disk {
		if !slices.ContainsFunc(r.storage.Needed, func(i roster.Incarnation) bool { return i.Member() == m }) {
			out = append(out, m)
		}
	}
	return out
}

// Persisted returns the report by which the roster names the next members to store the definitions:
// each has stored at least the table that was current when this replica observed the newest version
// (D4). It returns false if they are named already, and if there are none. No earlier reply is
// newer than that table, and replies at this version wait for the same members.
func (r *Replica[S, C]) Persisted() (roster.Persisted, bool) {
	next := r.storage.Next
	if !r.Acts() || slices.ContainsFunc(next, func(i roster.Incarnation) bool { return r.lacks(i, r.mark) }) {
		return roster.Persisted{}, false
	}
	named := 0
	for _, i := range next {
		if slices.Contains(r.entry.Disk, i.Member()) {
			named++
		}
	}
	if len(next) == 0 || len(next) == named && len(r.entry.Disk) == named {
		return roster.Persisted{}, false
	}
	return roster.Persisted{Partition: r.partition, Version: r.version}, true
}

// Disks compares the named disks with the in-sync replicas.
type Disks struct {
	Named   []roster.MemberID    // by the newest roster; read only
	Missing []roster.MemberID    // named members that cannot acknowledge
	Behind  []roster.Incarnation // members that have not stored the number
	Next    int                  // number of members that are next to be named
}

// Disks returns the disks for which a reply that depends on a number of this term waits.
func (r *Replica[S, C]) Disks(number uint64) Disks {
	d := Disks{Named: r.entry.Disk, Missing: r.missing(), Next: len(r.storage.Next)}
	for _, i := range r.storage.Needed {
		if r.lacks(i, number) {
			d.Behind = append(d.Behind, i)
		}
	}
	return d
}

// MayShow returns nil if this member may send its disk's definitions to the owner of a term that
// began after the loss of term lost: its newest term is at least as late as the loss, so it no
// longer reports writes to an owner with an earlier term (D6). Errors: ErrOldTerm, ErrNotYet.
func (r *Replica[S, C]) MayShow(term, lost roster.Term) error {
	switch {
	case term < r.newest:
		return ErrOldTerm
	case lost == 0 || r.newest < lost:
		return ErrNotYet
	}
	return nil
}

// OwnerOf returns a term's owner, if the newest roster has that term.
func (r *Replica[S, C]) OwnerOf(term roster.Term) (roster.Incarnation, bool) {
	return r.entry.Owner, r.entry.Term == term && r.entry.Owner != ""
}

// JoinerOnDisk reports whether the joining replica, if it is durable, has the mark on its
// disk: after its admission no reply waits for its first write.
func (r *Replica[S, C]) JoinerOnDisk() bool {
	c := r.entry.Joining
	return c == "" || !slices.Contains(r.storage.Durable, c) || !r.lacks(c, r.mark)
}
