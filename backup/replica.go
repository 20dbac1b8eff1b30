// Package backup keeps one partition's replica: which table it holds, whether
// it may act on it, and what it takes from others.
//
// A [Replica] is told what the newest committed roster says about its partition
// ([Replica.Observe]), takes office when it is named owner ([Replica.Acts]),
// numbers each change of its table ([Replica.Changed]), and accepts whole tables
// of other owners ([Replica.Accept]). What a table holds is the business of a
// [Machine].
//
// A replica has one caller at a time, the actor of its partition. It waits for
// nothing, and the letters in comments (O2, B1) are the rules of the protocol.
// DESIGN.md, next to this file, has the reasons.
package backup

import (
	"cmp"
	"fmt"

	"github.com/snowgrid/snowgrid/partition"
)

// Machine is the table a replica keeps. S is its whole content as a value that
// shares nothing with the machine.
type Machine[S any] interface {
	// TakeOffice makes the table that of a new term (O2). After a loss the table
	// is discarded and everything counts as granted up to the floor; otherwise
	// what is assigned does.
	TakeOffice(floor partition.Tick, lost bool)
	// Snapshot gives the whole content.
	Snapshot() S
	// Restore replaces the whole content.
	Restore(S)
}

// Position says how far a table has come: the number of changes within a term.
// Taking office is number 0. A replica that never held a table is at the zero
// value.
type Position struct {
	Term   partition.Term `json:"term"`
	Number uint64         `json:"number"`
}

// Compare orders positions by term, then by number: -1, 0 or 1.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.Term, q.Term), cmp.Compare(p.Number, q.Number))
}

// String gives term and number.
func (p Position) String() string { return fmt.Sprintf("(%d, %d)", p.Term, p.Number) }

// Table is a whole table with its position, as one replica sends it to another.
type Table[S any] struct {
	Position Position `json:"position"`
	State    S        `json:"state"`
}

// Replica is one process's copy of one partition.
//
//	        a newer roster names me, with a term not yet served
//	 copy ---------------------------------------------------> acting
//	^    |                                                     |    |  ^
//	+----+                                                     |    +--+
//	Accept                                                     |  Changed
//	  ^                                                        |
//	  +--------------------------------------------------------+
//	  a newer roster names another term or owner, a later term is
//	  heard of, or a table of a later term is accepted
//
// It comes back to acting only by taking office for another term.
type Replica[S any] struct {
	partition partition.ID
	self      partition.Incarnation
	machine   Machine[S]

	version  partition.Version   // of the newest roster known; it never goes back (R6)
	entry    partition.Partition // what that roster says about the partition
	newest   partition.Term      // the latest term heard of, from rosters or messages
	office   partition.Term      // the last term this replica took office for
	position Position            // of the table the machine holds
}

// New gives a replica without a table, for the process self.
func New[S any](p partition.ID, self partition.Incarnation, m Machine[S]) *Replica[S] {
	return &Replica[S]{partition: p, self: self, machine: m}
}

// Position gives how far the replica's table has come.
func (r *Replica[S]) Position() Position { return r.position }

// Table gives the whole table to send to another replica.
func (r *Replica[S]) Table() Table[S] {
	return Table[S]{Position: r.position, State: r.machine.Snapshot()}
}

// Changed numbers a change that the owner has just made to its machine, and
// gives the new position (O3). It panics if the replica does not act: the owner
// has then changed a table that is another's.
func (r *Replica[S]) Changed() Position {
	if !r.Acts() {
		panic(fmt.Sprintf("backup: partition %d changed by %s, which does not act", r.partition, r.self))
	}
	r.position.Number++
	return r.position
}

// Accept takes another owner's table in place of the replica's own (B1). It
// gives the position the replica holds afterwards, which is what the sender may
// rely on, with an error too. A table of a term older than the newest known is
// refused with [ErrOldTerm], one that is not ahead of the replica's own with
// [ErrOldPosition], and one of a term this process is itself the owner of with
// [ErrOwnTerm]. Accepting a later term ends acting.
func (r *Replica[S]) Accept(t Table[S]) (Position, error) {
	if err := r.acceptable(t.Position); err != nil {
		return r.position, fmt.Errorf("%w: offered %v, held %v, newest term %d", err, t.Position, r.position, r.newest)
	}
	r.machine.Restore(t.State)
	r.position = t.Position
	r.Heard(t.Position.Term)
	return r.position, nil
}

func (r *Replica[S]) acceptable(p Position) error {
	switch {
	case p.Term == 0 || p.Term < r.newest:
		return ErrOldTerm
	case r.entry.Owner == r.self && r.entry.Term == p.Term:
		return ErrOwnTerm
	case p.Compare(r.position) <= 0:
		return ErrOldPosition
	}
	return nil
}
