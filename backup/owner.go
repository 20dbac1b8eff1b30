package backup

import (
	"cmp"
	"slices"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// owner is the state of the other replicas, kept while the replica acts.
type owner[C any] struct {
	changes []C    // the last ones of this term that some replica lacks; the last of them led to position
	mark    uint64 // position's number when the version was learned (R5)
	peers   map[roster.Incarnation]peer
	disks   map[roster.Incarnation]uint64 // the number on the disk of each replica, its own included
}

// peer is another replica's acknowledged position in this term.
type peer struct {
	number uint64
	at     roster.Version // the latest version of the owner at which it acknowledged
}

// changesKept is the number of changes that an owner keeps for replicas that are slightly
// behind. A replica that is further behind gets the whole table.
const changesKept = 1024

// forget drops all changes except the last ones. The list is copied if its capacity is
// twice the rest, so that dropped changes take no memory.
func (o *owner[C]) forget(kept uint64) {
	if kept >= uint64(len(o.changes)) {
		return
	}
	last := o.changes[uint64(len(o.changes))-kept:]
	if 2*kept <= uint64(cap(o.changes)) {
		last = slices.Clone(last)
	}
	o.changes = last
}

// forgetHeld drops the changes that every needed replica has acknowledged. A replica
// without an acknowledgement is being sent the whole table, and may need the changes after
// it.
func (r *Replica[S, C]) forgetHeld() {
	least := r.position.Number
	for _, i := range r.Needed() {
		p, said := r.peers[i]
		if !said {
			return
		}
		least = min(least, p.number)
	}
	r.forget(r.position.Number - least)
}

// Needed returns the other replicas that have to acknowledge: the in-sync set and the joining
// replica (O4, R5). It is empty if the replica does not act.
func (r *Replica[S, C]) Needed() []roster.Incarnation {
	if !r.Acts() {
		return nil
	}
	needed := slices.DeleteFunc(slices.Clone(r.entry.InSync), func(i roster.Incarnation) bool { return i == r.self })
	if r.entry.Joining != "" {
		needed = append(needed, r.entry.Joining)
	}
	return needed
}

// AllAcknowledged reports whether every needed replica has acknowledged a number of this term (O4).
// Number 0 is the table at the start of the term.
func (r *Replica[S, C]) AllAcknowledged(number uint64) bool {
	if !r.Acts() {
		return false
	}
	for _, i := range r.Needed() {
		if p, said := r.peers[i]; !said || p.number < number {
			return false
		}
	}
	return true
}

// Acknowledged records the position in a replica's answer to an update that the owner sent
// at version v. An answer at a later version replaces an earlier one, because the replica
// may have dropped its table in between. A later term ends the owner's term.
func (r *Replica[S, C]) Acknowledged(from roster.Incarnation, v roster.Version, held Position) {
	r.Heard(held.Term)
	if !r.Acts() || held.Term != r.ownTerm {
		return
	}
	if held.Number > r.position.Number {
		// Only this owner numbers changes in its term, so another process made the table behind that number. The next
		// update is a whole table with a later number, which replaces it.
		if held.Number < numberMax {
			r.position.Number = held.Number + 1
			r.forget(0)
		}
		return
	}
	p, said := r.peers[from]
	if !said || cmp.Or(cmp.Compare(v, p.at), cmp.Compare(held.Number, p.number)) > 0 {
		r.peers[from] = peer{number: held.Number, at: v}
		r.forgetHeld()
	}
}

// Admission returns the joining replica after it has acknowledged the mark or a later
// number, at exactly the version at which the owner acts (R5). An acknowledgement at an
// earlier version does not count: the replica may have been given up and have dropped the
// table since.
func (r *Replica[S, C]) Admission() (roster.Holding, bool) {
	c := r.entry.Joining
	if c == "" || !r.Acts() {
		return roster.Holding{}, false
	}
	p, said := r.peers[c]
	if !said || p.at != r.version || p.number < r.mark {
		return roster.Holding{}, false
	}
	return roster.Holding{Replica: roster.Replica{Partition: r.partition, Member: c}, Version: r.version}, true
}
