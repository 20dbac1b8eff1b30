package backup

import (
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Observe applies the partition's entry in a committed roster, with the members that store its
// definitions, and reports whether the replica became the owner in a new term. A roster that is not
// newer than the newest observed one is ignored (R6).
//
// A replica becomes the owner once per term: when the roster names it with a term later than its
// table's, and there is no later term (O2). The name alone is not enough: an owner that was
// replaced and named again missed the changes in between, and has to start a new term.
func (r *Replica[S, C]) Observe(v roster.Version, p roster.Partition, s roster.Storage) (becameOwner bool) {
	if v <= r.version {
		return false
	}
	r.version, r.entry, r.storage = v, p, s
	if p.Term == p.LostTerm {
		r.loss = loss{term: p.Term, floor: p.Floor}
	}
	r.Heard(p.Term)
	r.discard()
	if p.Owner == r.self && p.Term >= r.newest && p.Term > r.position.Term {
		r.becomeOwner()
		becameOwner = true
	}
	r.mark = r.position.Number
	return becameOwner
}

// becomeOwner starts the roster's term with the replica's table (O2). A table from before
// the last loss lacks the changes of the owners since then, so it is discarded.
func (r *Replica[S, C]) becomeOwner() {
	lost := r.position.Term < r.entry.LostTerm
	r.machine.BecomeOwner(r.floor(lost), lost, len(r.entry.Disk) == 0)
	r.ownTerm = r.entry.Term
	r.position = Position{Term: r.entry.Term}
	r.owner = owner[C]{peers: map[roster.Incarnation]peer{}, disks: map[roster.Incarnation]uint64{}}
}

// floor returns the upper limit of all earlier grants, where a term begins. Without a table
// from after the loss it is the floor of the loss, even if there were other owners since:
// this replica was in sync and never had a table of theirs, so they answered no request.
// A replica that did not see the loss uses the later floor.
func (r *Replica[S, C]) floor(lost bool) clustertime.Tick {
	if lost && r.loss.term == r.entry.LostTerm {
		return r.loss.floor
	}
	return r.entry.Floor
}

// discard drops the table of a partition that this process no longer replicates. An owner that acts
// at a later version than the observed roster may rely on a position that it received from here, so
// the table is kept until that version is observed.
func (r *Replica[S, C]) discard() {
	if r.position == (Position{}) || r.version < r.shown || r.entry.Keeps(r.self) {
		return
	}
	var empty S
	r.machine.Restore(empty)
	r.position = Position{}
}

// Acts reports whether the replica may act as the partition's owner: the newest observed roster
// names it, it has started exactly that term, and there is no later term (O1).
func (r *Replica[S, C]) Acts() bool {
	return r.entry.Owner == r.self && r.ownTerm == r.entry.Term && r.newest == r.ownTerm && r.ownTerm > 0
}

// Heard records a term from a message. A later term than its own means that another owner
// was named, so the replica no longer acts.
func (r *Replica[S, C]) Heard(term roster.Term) {
	r.newest = max(r.newest, term)
}
