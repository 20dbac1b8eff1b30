// Package backup is machinery of package grid without a promise of compatibility.
//
// It implements the replication of one partition: terms, acknowledgements, promotion and joining.
//
// A [Replica] receives the newest committed roster ([Replica.Observe]) and becomes the
// owner when the roster names it ([Replica.Acts]). As the owner it numbers each change of
// its table ([Replica.Changed]), computes the updates for the other replicas
// ([Replica.Update]) and reports whether they have acknowledged a change
// ([Replica.AllAcknowledged]). As a backup it applies the updates of an owner ([Replica.Accept]).
// The content of the table is the business of a [Machine].
//
// A replica has one caller at a time, the actor of its partition, and never blocks. The
// letters in comments (O2, B1) are the rules of the protocol, listed in proof/RULES.md.
// DESIGN.md, next to this file, has the reasons.
package backup

import (
	"cmp"
	"fmt"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Machine is the table of a replica. S is its whole content, and C the changes of some
// operations, as values that share no memory with the machine. The zero S is an empty
// table.
type Machine[S, C any] interface {
	// BecomeOwner prepares the table for a new term (O2). After a loss the table is
	// discarded and everything counts as granted up to the floor; otherwise only
	// assigned nodes do. complete reports that no disk has more than the discarded
	// table (D5).
	BecomeOwner(floor clustertime.Tick, lost, complete bool)
	// Snapshot returns the whole content.
	Snapshot() S
	// Restore replaces the whole content.
	Restore(S)
	// Change returns the changes since its last call.
	Change() C
	// Apply applies a change that was made to an equal table.
	Apply(C)
}

// Position is the position of a table in its history: a term, and the number of changes in
// that term. Number 0 is the table at the start of the term. A replica that never had a
// table is at the zero value.
type Position struct {
	Term   roster.Term `json:"term"`
	Number uint64      `json:"number"`
}

// Compare orders positions by term, then by number: -1, 0 or 1.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.Term, q.Term), cmp.Compare(p.Number, q.Number))
}

// String returns term and number.
func (p Position) String() string { return fmt.Sprintf("(%d, %d)", p.Term, p.Number) }

// Replica is one process's copy of one partition.
//
//	        a newer roster names this replica, with a new term
//	 copy ---------------------------------------------------> acting
//	^    |                                                     |    |  ^
//	+----+                                                     |    +--+
//	Accept                                                     |  Changed
//	  ^                                                        |
//	  +--------------------------------------------------------+
//	  a newer roster names another term or owner, a message
//	  carries a later term, or a table of a later term is accepted
//
// It acts again only after a promotion with another term.
type Replica[S, C any] struct {
	partition roster.PartitionID
	self      roster.Incarnation
	machine   Machine[S, C]

	version  roster.Version   // newest observed roster version; it never goes back (R6)
	entry    roster.Partition // the partition in that roster
	storage  roster.Storage   // the members that store its definitions, by that roster
	loss     loss             // the last one in a roster
	newest   roster.Term      // the latest term, from rosters or messages
	ownTerm  roster.Term      // the last term of this replica as the owner
	position Position         // position of the machine's table
	shown    roster.Version   // the latest version at which an owner received this position
	stored   Position         // position of the definitions that this process stored last

	owner[C]
}

// loss is a term that began without any copy, and the upper limit of all earlier grants.
type loss struct {
	term  roster.Term
	floor clustertime.Tick
}

// New returns a replica without a table, for the process self.
func New[S, C any](p roster.PartitionID, self roster.Incarnation, m Machine[S, C]) *Replica[S, C] {
	return &Replica[S, C]{partition: p, self: self, machine: m}
}

// Self returns the replica's process.
func (r *Replica[S, C]) Self() roster.Incarnation { return r.self }

// Position returns the position of the replica's table.
func (r *Replica[S, C]) Position() Position { return r.position }

// Newest returns the latest term in any roster or message.
func (r *Replica[S, C]) Newest() roster.Term { return r.newest }

// Changed numbers a change that the owner has just made to its machine, and returns the
// new position (O3). It panics if the replica does not act, because the caller has then
// changed the table of another owner.
func (r *Replica[S, C]) Changed() Position {
	if !r.Acts() {
		panic(fmt.Sprintf("backup: partition %d changed by %s, which does not act", r.partition, r.self))
	}
	r.position.Number++
	r.changes = append(r.changes, r.machine.Change()) // for replicas that lack it
	if len(r.changes) >= 2*changesKept {              // so that the amortized cost is low
		r.forget(changesKept)
	}
	r.forgetHeld()
	return r.position
}

// Replaced numbers a change of the whole table, like [Replica.Changed]. The other replicas
// then need the whole table.
func (r *Replica[S, C]) Replaced() Position {
	r.Changed()
	r.forget(0)
	return r.position
}
