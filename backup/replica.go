// Package backup keeps one partition's replica: which table it holds, whether
// it may act on it, what it takes from others, and who holds what it decided.
//
// A [Replica] is told what the newest committed roster says about its partition
// ([Replica.Observe]), takes office when it is named owner ([Replica.Acts]),
// numbers each change of its table ([Replica.Changed]), says what the others
// need ([Replica.Update]) and whether they have it ([Replica.Holds]), and, as a
// copy, takes what an owner sends ([Replica.Accept]). What a table holds is the
// business of a [Machine].
//
// A replica has one caller at a time, the actor of its partition. It waits for
// nothing, and the letters in comments (O2, B1) are the rules of the protocol.
// DESIGN.md, next to this file, has the reasons.
package backup

import (
	"cmp"
	"fmt"

	"github.com/snowgrid/snowgrid/clustertime"
	"github.com/snowgrid/snowgrid/roster"
)

// Machine is the table a replica keeps. S is its whole content, and C what some
// operations changed in it, as values that share nothing with the machine. The
// zero S is an empty table.
type Machine[S, C any] interface {
	// TakeOffice makes the table that of a new term (O2). After a loss the table
	// is discarded and everything counts as granted up to the floor; otherwise
	// what is assigned does. complete says of a discarded table that no disk has
	// more than it (D5).
	TakeOffice(floor clustertime.Tick, lost, complete bool)
	// Snapshot gives the whole content.
	Snapshot() S
	// Restore replaces the whole content.
	Restore(S)
	// Change gives what was changed since its last call.
	Change() C
	// Apply makes a change that was made to an equal table.
	Apply(C)
}

// Position says how far a table has come: the number of changes within a term.
// Taking office is number 0. A replica that never held a table is at the zero
// value.
type Position struct {
	Term   roster.Term `json:"term"`
	Number uint64      `json:"number"`
}

// Compare orders positions by term, then by number: -1, 0 or 1.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.Term, q.Term), cmp.Compare(p.Number, q.Number))
}

// String gives term and number.
func (p Position) String() string { return fmt.Sprintf("(%d, %d)", p.Term, p.Number) }

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
type Replica[S, C any] struct {
	partition roster.PartitionID
	self      roster.Incarnation
	machine   Machine[S, C]

	version     roster.Version       // of the newest roster known; it never goes back (R6)
	entry       roster.Partition     // what that roster says about the partition
	durable     []roster.Incarnation // of its replicas and this process, those with a data directory
	someDurable bool                 // some member has a data directory
	loss        loss                 // the last one that a roster told of
	newest      roster.Term          // the latest term heard of, from rosters or messages
	office      roster.Term          // the last term this replica took office for
	position    Position             // of the table the machine holds
	shown       roster.Version       // the latest version at which an owner was told what is held
	stored      Position             // of the last table that is on this process's disk

	owner[C]
}

// loss is a term that began without any copy, and what had been granted before it at most.
type loss struct {
	term  roster.Term
	floor clustertime.Tick
}

// New gives a replica without a table, for the process self.
func New[S, C any](p roster.PartitionID, self roster.Incarnation, m Machine[S, C]) *Replica[S, C] {
	return &Replica[S, C]{partition: p, self: self, machine: m}
}

// Position gives how far the replica's table has come.
func (r *Replica[S, C]) Position() Position { return r.position }

// Newest gives the latest term the replica has heard of.
func (r *Replica[S, C]) Newest() roster.Term { return r.newest }

// Changed numbers a change that the owner has just made to its machine, and
// gives the new position (O3). It panics if the replica does not act: the owner
// has then changed a table that is another's.
func (r *Replica[S, C]) Changed() Position {
	if !r.Acts() {
		panic(fmt.Sprintf("backup: partition %d changed by %s, which does not act", r.partition, r.self))
	}
	r.position.Number++
	r.remember(r.machine.Change())
	r.forgetHeld()
	return r.position
}

// Replaced numbers a change of the whole table, like [Replica.Changed]. The others
// need the whole table after it.
func (r *Replica[S, C]) Replaced() Position {
	r.Changed()
	r.forget(0)
	return r.position
}
