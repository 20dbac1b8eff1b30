package backup

import (
	"cmp"
	"slices"

	"github.com/snowgrid/snowgrid/roster"
)

// owner is what a replica knows of the others while it acts.
type owner[C any] struct {
	changes []C    // the last ones of this term that somebody lacks; the last of them led to position
	mark    uint64 // position's number when the version was learned (R5)
	peers   map[roster.Incarnation]peer
	disks   map[roster.Incarnation]uint64 // the number that each has on disk, its own disk included
}

// peer is what another replica said that it holds in this term.
type peer struct {
	number uint64
	at     roster.Version // the latest version at which it was asked and said so
}

// changesKept is how many changes an owner keeps for replicas that are a little
// behind; one that is further behind gets the whole table.
const changesKept = 1024

// remember keeps a change for those who need it. The list is cut when it is twice
// as long as it has to be, so that cutting costs little.
func (o *owner[C]) remember(c C) {
	o.changes = append(o.changes, c)
	if len(o.changes) >= 2*changesKept {
		o.forget(changesKept)
	}
}

// forget drops the changes but the last so many. The list is copied when it is twice
// as long as it has to be, so that what was dropped takes no memory.
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

// forgetHeld drops the changes that everybody needed has. Somebody who has said
// nothing yet is being sent the whole table, and may then need what follows it.
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

// Needed gives everybody else whose acknowledgement the owner needs: the in-sync
// set, and who joins it (O4, R5). It is empty if the replica does not act.
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

// Holds reports whether everybody needed holds the table as of a number of this
// term (O4). Number 0 is the table as the term began with it.
func (r *Replica[S, C]) Holds(number uint64) bool {
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

// Acknowledged notes what a replica says that it holds, in answer to an update
// of an owner that acted at version v. What it says at a later version takes the
// place of what it said before: it may have dropped its table between. A later
// term than the own one ends acting.
func (r *Replica[S, C]) Acknowledged(from roster.Incarnation, v roster.Version, held Position) {
	r.Heard(held.Term)
	if !r.Acts() || held.Term != r.office || held.Number > r.position.Number {
		return
	}
	p, said := r.peers[from]
	if !said || cmp.Or(cmp.Compare(v, p.at), cmp.Compare(held.Number, p.number)) > 0 {
		r.peers[from] = peer{number: held.Number, at: v}
		r.forgetHeld()
	}
}

// Admission gives the joining replica once it has said, at the very version the
// owner acts at, that it holds the table as of the mark or later (R5). What it
// said at an earlier version does not count: it may have joined in vain and
// dropped the table since.
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
