package record

import (
	"errors"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// The phases of a Holding.
const (
	Taking    HoldingPhase = iota // the record has not been confirmed as taken
	Holds                         // it is; the grant may be used
	Lost                          // another attachment has the record; its earlier grant stays usable
	Returning                     // stopped, and the record may still name the attachment
	Done                          // stopped, and nothing is left to do
)

// HoldingPhase is the phase of a Holding.
type HoldingPhase uint8

var holdingNames = [...]string{Taking: "taking", Holds: "holds", Lost: "lost", Returning: "returning", Done: "done"}

// String returns the phase's name.
func (p HoldingPhase) String() string { return holdingNames[min(int(p), len(holdingNames)-1)] }

// Holding is one attachment's use of one record, as a machine without time and I/O.
//
//	        landed             refused, damaged, expired
//	taking --------> holds --------------------------------> lost
//	   |               |                                       |
//	   | refused       | Stop                                  | Stop
//	   v               v            landed, or not recorded    v
//	  lost         returning ------------------------------> done
//
// [Holding.Want] returns the request to send; the caller sends it and passes the answer to Swapped
// or Read. At most one body has an unresolved outcome, the pending one. It is repeated until the
// record resolves it: the pending nonce means that it landed; the revision it replaces, that it has
// not landed yet; anything else, that it never will (H4). Lost, delayed or duplicated requests and
// answers therefore cannot make the grant differ from a body that was in the store.
//
// After Stop no answer changes the grant (H5).
type Holding struct {
	id    attachment.ID
	node  sequencer.NodeID
	phase HoldingPhase
	cause error // Lost: why

	now      Record // the body that the next one is computed from
	revision string // its revision
	grant    attachment.Grant
	landed   bool // a body from this attachment was confirmed in the store before Stop

	pending *Record // replaces now; nil if there is none
	copies  int     // requests for pending that were sent
	read    bool    // the record has to be read before anything else is sent
	refused bool    // the last answer for pending was a refusal
	// rel has the timestamps used, since Stop.
	rel attachment.Release
	// dropped is the nonce of a body with an unresolved outcome at Stop.
	dropped string
}

// NewHolding begins to take a record, read at revision, for a new attachment.
//
// Errors: see [Record.Take].
func NewHolding(id attachment.ID, c Candidate, revision, task, nonce string, b Bounds) (*Holding, error) {
	want, err := c.Record.Take(id, task, nonce, b)
	if err != nil {
		return nil, err
	}
	return &Holding{id: id, node: c.Node, now: c.Record, revision: revision, pending: &want}, nil
}

// ID returns the attachment.
func (h *Holding) ID() attachment.ID { return h.id }

// Node returns the logical node.
func (h *Holding) Node() sequencer.NodeID { return h.node }

// Phase returns the phase.
func (h *Holding) Phase() HoldingPhase { return h.phase }

// Cause returns why the record was lost: sequencer.ErrDestroyed, sequencer.ErrDetached,
// ErrExpired or ErrDamaged; nil in other phases.
func (h *Holding) Cause() error { return h.cause }

// Record returns the newest body confirmed in the store.
func (h *Holding) Record() Record { return h.now }

// Grant returns the grant from this attachment's newest body confirmed before Stop, or false if
// there is none. It stays when the record is lost.
func (h *Holding) Grant() (attachment.Grant, bool) { return h.grant, h.landed }

// Request is the read or swap that a Holding requires from the store.
type Request uint8

// The requests.
const (
	Nothing Request = iota
	Swap            // write the record if the revision still matches
	Load            // read the record
)

// Want returns the next request, with the body and the revision for a Swap. It stays the same until
// an answer changes it, so it may be sent again at any time.
func (h *Holding) Want() (Request, Record, string) {
	switch {
	case h.read:
		return Load, Record{}, ""
	case h.pending != nil:
		return Swap, *h.pending, h.revision
	}
	return Nothing, Record{}, ""
}

// Idle reports whether there is no request to send.
func (h *Holding) Idle() bool { return !h.read && h.pending == nil }

// Extend begins to extend the record, if no other request is pending. The grant grows when the
// extension has landed.
//
// Errors: see [Record.Extend]; the record is lost then.
func (h *Holding) Extend(known map[sequencer.NodeID]uint64, nonce string, b Bounds) error {
	if h.phase != Holds || !h.Idle() {
		return nil
	}
	want, err := h.now.Extend(h.id, known, nonce, b)
	if err != nil {
		h.lose(err)
		return err
	}
	h.pending, h.copies, h.refused = &want, 0, false
	return nil
}

// Stop ends the attachment's use permanently; rel has the timestamps it used. The record is
// returned if it names the attachment, or may yet do so.
func (h *Holding) Stop(rel attachment.Release, nonce string) {
	switch h.phase {
	case Returning, Done:
		return
	case Lost:
		h.finish()
		return
	}
	h.rel, h.phase = rel, Returning
	if h.copies == 0 {
		h.giveBack(nonce)
		return
	}
	h.read = true // the body that it may have become is the one to return
}

// Expire ends a holding when others may take its record, even while an extension is pending: it is
// not extended again, and a new attachment replaces it.
func (h *Holding) Expire(now clustertime.Tick) bool {
	if h.phase != Holds || now <= h.now.Timestamp {
		return false
	}
	h.lose(failure.Errorf(ErrExpired, "record: it expired at %s, and it is %s", text(h.now.Timestamp), text(now)))
	return true
}

// Look has the record read, because it may have changed.
func (h *Holding) Look() { h.read = h.read || h.phase == Holds }

// giveBack begins to return the newest confirmed record.
func (h *Holding) giveBack(nonce string) {
	want, held := h.now.Return(h.rel, nonce)
	if !held {
		h.finish()
		return
	}
	h.pending, h.copies, h.read, h.refused = &want, 0, false, false
}

// Answer is the outcome of a swap.
type Answer uint8

// The answers to a swap.
const (
	Unknown Answer = iota // it may have landed, or may yet
	Landed                // it did, with a new revision
	Refused               // this request did not and will not
)

// Sent records that a request for the pending body is about to be sent. It must be called
// before each Swap.
func (h *Holding) Sent() {
	if h.pending != nil {
		h.copies++
	}
}

// Swapped applies the answer to a swap of the body with this nonce. revision is the new revision if
// it landed. Answers about other bodies than the pending one are ignored. fresh is a nonce for a
// subsequent body.
func (h *Holding) Swapped(nonce string, a Answer, revision, fresh string) {
	switch {
	case h.pending == nil || h.pending.Nonce != nonce:
	case a == Landed:
		h.settle(*h.pending, revision, fresh)
	default: // also if it was refused, since an earlier copy may have landed
		h.read, h.refused = true, a == Refused
	}
}

// Seen is a record as it was read.
type Seen struct {
	Record   Record
	Revision string
	// Err is nil, or matches ErrDamaged if the record is missing or unreadable.
	Err error
}

// Read applies the record as read, if a read was requested. fresh is a nonce for a subsequent body.
func (h *Holding) Read(s Seen, fresh string) {
	if !h.read {
		return
	}
	h.read = false
	switch {
	case s.Err != nil:
		h.lose(s.Err)
	case h.pending != nil && s.Record.Nonce == h.pending.Nonce:
		h.settle(s.Record, s.Revision, fresh)
	case s.Revision == h.revision && h.phase == Returning && h.pending.HeldBy(h.id):
		// The stopped attachment's body has not landed, but it may yet. The body it was computed
		// from is returned if it names the attachment.
		h.dropped = h.pending.Nonce
		h.giveBack(fresh)
	case s.Revision == h.revision && h.pending != nil && h.refused && h.pending.HeldBy(h.id) && h.pending.Generation != "":
		// Not for its revision: another server has taken over (Q3, Q4).
		h.lose(failure.Errorf(sequencer.ErrDetached,
			"record: its server was replaced, so writes may have been lost; take a record again"))
	case s.Revision == h.revision && h.phase == Taking && h.refused && h.copies == 1:
		// The store has a reason besides the record, such as a live lease.
		h.lose(failure.Errorf(sequencer.ErrDetached, "record: the store refuses that it is taken in version %d",
			s.Record.Version))
	case s.Revision == h.revision: // pending has not landed yet, and is sent again
	case h.phase == Returning && s.Record.HeldBy(h.id) && s.Record.Nonce == h.dropped:
		h.now, h.revision = s.Record, s.Revision
		h.giveBack(fresh)
	default:
		h.lose(h.takenBy(s.Record))
	}
}

// takenBy returns the error for a record that was lost to another body.
func (h *Holding) takenBy(r Record) error {
	life := h.now.Life
	if h.pending != nil {
		life = h.pending.Life
	}
	if r.EndOf(life) {
		return failure.Errorf(sequencer.ErrDestroyed, "record: the sequencer was destroyed")
	}
	return failure.Errorf(sequencer.ErrDetached, "record: it is %v by %q in version %d", r.State, r.Task, r.Version)
}

// settle takes in that the pending body landed. Only before Stop does it change the grant.
func (h *Holding) settle(r Record, revision, fresh string) {
	h.now, h.revision, h.pending, h.copies, h.read = r, revision, nil, 0, false
	if h.phase == Returning {
		h.giveBack(fresh)
		return
	}
	h.phase, h.landed, h.grant = Holds, true, r.Grant()
}

// lose ends the tries to change the record.
func (h *Holding) lose(cause error) {
	if h.phase == Returning {
		h.finish()
		return
	}
	h.pending, h.copies, h.read = nil, 0, false
	h.phase, h.cause = Lost, cause
}

// GiveUp ends the attempts to take or return the record with an unresolved outcome. If a request
// lands later, the node stays unavailable until it expires (H4).
func (h *Holding) GiveUp() {
	switch h.phase {
	case Returning:
		h.finish()
	case Taking:
		h.lose(errGaveUp)
	}
}

var errGaveUp = errors.New("record: gave up")

func (h *Holding) finish() {
	h.phase, h.pending, h.copies, h.read = Done, nil, 0, false
}
