// Package record defines the rules for one logical node's record in a store, and for the
// sequencer's own record.
//
// A store keeps one [Record] for each logical node of a sequencer, and one [Document] with the
// sequencer's definition. Every change is a compare-and-swap: a complete new body, computed from
// exactly the body it replaces. Record's methods compute those bodies; a [Holding] decides which
// body an attachment requests, and when the attachment may use the record's grant.
//
//	        Take                        Return
//	free ---------> held (attachment T) ------> free
//	  ^              |  ^  Extend(T)
//	  |              |  | Take by another attachment, expired or not
//	  | Restore      v  +---
//	  +----------- retired <--- Retire --- free, held
//
//	free, held, retired --- Close ---> closed ---- Take in a later life ---> held
//
// Invariant of a record, for one life of the sequencer: every timestamp that was granted to an
// attachment other than the recorded one lies below From, or below Bound if none is recorded; every
// timestamp granted to the recorded one lies in [From, Bound). Only Return lowers Bound, and never
// below From. Clocks do not appear in it: a clock decides when a record may be taken, never which
// timestamps a grant may contain.
//
// The package is pure: the time, random identities and nonces are arguments. The letters in
// comments (H2, Q3) are the rules in DESIGN.md of package store.
package record

import (
	"errors"
	"fmt"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/sequencer"
)

// The errors in this package, besides package sequencer's.
var (
	// ErrDamaged means that a record is missing or unreadable, or that its content
	// contradicts the sequencer's document. Repair is the remedy.
	ErrDamaged = errors.New("damaged record: find out what removed or changed it, then repair it")

	// ErrExpired means that the holder did not extend the record in time, so that
	// others may take it.
	ErrExpired = errors.New("expired: take a record again")

	// ErrAhead means that the record is granted to a time far ahead of this clock.
	ErrAhead = errors.New("granted far ahead of this clock: check the clocks, or repair the record")

	// ErrRetired means that the record is out of use until it is restored.
	ErrRetired = errors.New("retired: scale the sequencer up, or restore the record")
)

// State is the state of a record.
type State uint8

// The states of a record.
const (
	Free    State = iota // no holder
	Held                 // one attachment holds it
	Retired              // out of use, by scaling down
	Closed               // its life has ended; a later life may take it
)

var stateNames = [...]string{Free: "free", Held: "held", Retired: "retired", Closed: "closed"}

// String returns the state's name.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// Record is one logical node's state in the store. It is a value; Known is not changed.
type Record struct {
	State State
	// Task names the present or last holder, for people and for other holders.
	Task string
	// Version counts the times that the record was taken.
	Version uint64
	// Timestamp is the time from which others may take a held record. It is a hint:
	// taking it earlier costs its holder the node, and is safe.
	Timestamp clustertime.Tick
	// Known has other records' versions as seen by the holder, by node.
	Known map[sequencer.NodeID]uint64

	Attachment attachment.ID   // the holder's, zero unless Held
	Life       attachment.Life // the life in which it was last changed; zero in an empty body
	// From and Until are the attachment's grant, zero unless Held.
	From, Until clustertime.Tick
	// Bound is the first tick that was never granted.
	Bound clustertime.Tick
	// LastUsed is the last tick that a holder reported, when it extended or returned the
	// record.
	LastUsed clustertime.Tick
	// Graceful reports whether the holder before the present or last one returned the
	// record, and for a record that is not Held whether the last one did.
	Graceful bool
	// Nonce is different in every body.
	Nonce string
	// Generation names the server that granted the record, "" if the store's server
	// cannot lose writes or the record was not taken yet (Q5).
	Generation string
}

// Grant returns the record's grant to its attachment.
func (r Record) Grant() attachment.Grant { return attachment.Grant{From: r.From, Until: r.Until} }

// HeldBy reports whether the record is held by exactly this attachment.
func (r Record) HeldBy(id attachment.ID) bool {
	return r.State == Held && r.Attachment == id && !id.IsZero()
}

// Acquirable reports whether another holder may take the record at now: it is free, or its holder
// is late. Records from an ended life are acquirable in a later one.
func (r Record) Acquirable(now clustertime.Tick) bool {
	switch r.State {
	case Free, Closed:
		return true
	case Held:
		return now > r.Timestamp
	}
	return false
}

// Born returns the record for a logical node without earlier attachments, in the life that creates
// it. It has no generation, so that its first Take waits (Q5).
func Born(life attachment.Life, nonce string) Record {
	return Record{State: Free, Life: life, Graceful: true, Nonce: nonce}
}
