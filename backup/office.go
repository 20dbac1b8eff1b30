package backup

import (
	"github.com/snowgrid/snowgrid/clustertime"
	"github.com/snowgrid/snowgrid/roster"
)

// Observe tells the replica what a committed roster says about its partition, and
// which members are durable, and reports whether it took office by that. A roster
// that is not newer than the newest one known is ignored (R6).
//
// A replica takes office for a term once, when it is named owner with a term
// that is later than its table's and than which it has heard of no later (O2).
// The name alone does not count: an owner that was replaced and named again
// missed what the one between did, and must begin a term of its own.
func (r *Replica[S, C]) Observe(v roster.Version, p roster.Partition, durable ...roster.Incarnation) (tookOffice bool) {
	if v <= r.version {
		return false
	}
	r.version, r.entry = v, p
	r.observeDurable(durable)
	if p.Term == p.LostTerm {
		r.loss = loss{term: p.Term, floor: p.Floor}
	}
	r.Heard(p.Term)
	r.discard()
	if p.Owner == r.self && p.Term >= r.newest && p.Term > r.position.Term {
		r.takeOffice()
		tookOffice = true
	}
	r.mark = r.position.Number
	return tookOffice
}

// takeOffice makes the replica's table that of the roster's term (O2). A table
// from before the last loss lacks what the owners since then did, so it is
// discarded whoever it belonged to.
func (r *Replica[S, C]) takeOffice() {
	lost := r.position.Term < r.entry.LostTerm
	r.machine.TakeOffice(r.floor(lost), lost, len(r.entry.Disk) == 0)
	r.office = r.entry.Term
	r.position = Position{Term: r.entry.Term}
	r.owner = owner[C]{peers: map[roster.Incarnation]peer{}, disks: map[roster.Incarnation]uint64{}}
}

// floor returns what was granted at most, to begin a term with. Without a table from
// after the loss that is as of the loss, also when others were owners since then: they
// needed this replica, which was in sync and never held a table of theirs, for every
// answer, so they gave none. Whoever did not see the loss takes the later floor.
func (r *Replica[S, C]) floor(lost bool) clustertime.Tick {
	if lost && r.loss.term == r.entry.LostTerm {
		return r.loss.floor
	}
	return r.entry.Floor
}

// discard forgets the table of a partition that this process has nothing to do
// with any more. An owner that acts at a later version than the roster known here
// may have been told what is held and count on it, so it stays until that version
// is known.
func (r *Replica[S, C]) discard() {
	if r.position == (Position{}) || r.version < r.shown || r.entry.Keeps(r.self) {
		return
	}
	var empty S
	r.machine.Restore(empty)
	r.position = Position{}
}

// Acts reports whether the replica may act as the partition's owner: the newest
// roster it knows names it, it took office for that very term, and it has heard
// of no later one (O1).
func (r *Replica[S, C]) Acts() bool {
	return r.entry.Owner == r.self && r.office == r.entry.Term && r.newest == r.office && r.office > 0
}

// Heard tells the replica of a term that some message carried. A later term than
// its own means that another owner was named, so it no longer acts.
func (r *Replica[S, C]) Heard(term roster.Term) {
	r.newest = max(r.newest, term)
}
