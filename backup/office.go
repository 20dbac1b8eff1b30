package backup

import "github.com/snowgrid/snowgrid/partition"

// Observe tells the replica what a committed roster says about its partition,
// and reports whether it took office by that. A roster that is not newer than
// the newest one known is ignored (R6).
//
// A replica takes office for a term once, when it is named owner with a term
// that is later than its table's and than which it has heard of no later (O2).
// The name alone does not count: an owner that was replaced and named again
// missed what the one between did, and must begin a term of its own.
func (r *Replica[S]) Observe(v partition.Version, p partition.Partition) (tookOffice bool) {
	if v <= r.version {
		return false
	}
	r.version, r.entry = v, p
	r.Heard(p.Term)
	if p.Owner != r.self || p.Term < r.newest || p.Term <= r.position.Term {
		return false
	}
	r.takeOffice()
	return true
}

// takeOffice makes the replica's table that of the roster's term (O2). A table
// from before the last loss lacks what the owners since then did, so it is
// discarded whoever it belonged to.
func (r *Replica[S]) takeOffice() {
	lost := r.position.Term < r.entry.LostTerm
	r.machine.TakeOffice(r.entry.Floor, lost)
	r.office = r.entry.Term
	r.position = Position{Term: r.entry.Term}
}

// Acts reports whether the replica may act as the partition's owner: the newest
// roster it knows names it, it took office for that very term, and it has heard
// of no later one (O1).
func (r *Replica[S]) Acts() bool {
	return r.entry.Owner == r.self && r.office == r.entry.Term && r.newest == r.office && r.office > 0
}

// Heard tells the replica of a term that some message carried. A later term than
// its own means that another owner was named, so it no longer acts.
func (r *Replica[S]) Heard(term partition.Term) {
	r.newest = max(r.newest, term)
}
