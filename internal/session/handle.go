package session

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Handle is the machine's record of one handle. The machine reads the control and
// changes the handle by effects only.
type Handle struct {
	Control *sequencer.Control

	name    string
	stripe  bool
	removed bool

	seen sequencer.Attachment // the newest answer about an attachment
	// answered is the stamp of the newest answer about the life.
	answered Stamp
	heard    time.Duration // when the newest answer about an attachment came, negative for none
	// print is the fingerprint of the life with that attachment, bare without one.
	print, bare sequencer.Print

	next     time.Duration // when to renew next
	failures int           // of renewals, in succession
	shorts   int           // answers in succession whose grants end soon
	failedAt string        // the owner at which the last one failed, "" for none
	denied   bool          // it was told that its renewal was denied, and not renewed since
	busy     bool          // an idle detach or a replacement is in progress
	loss     *loss         // not nil while its lost logical node is being replaced
	reported use           // the use that owners were told of
}

func newHandle(control *sequencer.Control, s Stamp, stripe bool) *Handle {
	ref := control.Ref()
	return &Handle{
		Control: control, name: ref.Definition.Name(), stripe: stripe, answered: s, heard: -1,
		bare: sequencer.PrintOf(ref.Life, sequencer.Attachment{}),
	}
}

// before reports whether a handle is shown to owners before another one: by ascending
// name, and a name's stripes, which are attached, before its own handle. An owner
// forgets that a holder has a Detached one when an attachment of the name comes after it.
func (h *Handle) before(o *Handle) bool {
	if h.name != o.name {
		return h.name < o.name
	}
	return h.stripe && !o.stripe
}

// Claim is a handle as it is shown to an owner; with a zero ID it has no attachment.
// Grid, Version and Until are of its newest grant, or of the newest answer about the
// life without one.
type Claim struct {
	Ref sequencer.Ref
	ID  sequencer.AttachmentID
	sequencer.Preference
	Grid    roster.GridID
	Version roster.Version
	Until   clustertime.Tick
}

// claim returns the claim on an attachment of the handle.
func (h *Handle) claim(a sequencer.Attachment) Claim {
	return Claim{
		Ref: h.Control.Ref(), ID: a.ID, Preference: sequencer.Preference{Node: a.Node},
		Grid: h.answered.Grid, Version: h.answered.Version, Until: a.Grant.Until,
	}
}

// AttachClaim returns the claim by which the handle asks for a logical node, under an
// attachment ID that was never used.
func (h *Handle) AttachClaim(id sequencer.AttachmentID, p sequencer.Preference) Claim {
	c := h.claim(sequencer.Attachment{ID: id})
	c.Preference = p
	return c
}

// Attached takes in the answer to an attach that was asked for at began: a logical node
// that the handle is given now.
func (m *Machine) Attached(now Now, h *Handle, a sequencer.Attachment, s Stamp, began time.Duration) {
	m.Stamped(now, s, began)
	h.saw(s, now)
	h.told(a)
	h.next = now.Mono + m.pause()
}

// AttachFailed takes in that a user's attach failed: the handle is renewed as it is,
// so that the owner tells it of a destroy.
func (m *Machine) AttachFailed(now Now, h *Handle) { h.next = now.Mono }

// saw records the newest answer about the life, and when it came. One that was overtaken must not
// replace it: the grid would take it for one from before a loss.
func (h *Handle) saw(s Stamp, now Now) {
	h.heard = now.Mono
	if s.Grid != h.answered.Grid || s.Version >= h.answered.Version {
		h.answered = s
	}
	h.failures, h.denied = 0, false
}

// told records the owner's newest whole answer about an attachment.
func (h *Handle) told(a sequencer.Attachment) {
	h.seen, h.print = a, sequencer.PrintOf(h.Control.Ref().Life, a)
}

// shown returns the newest whole answer about the attachment that the handle has, or a
// zero Attachment if it has none, and its fingerprint; false if there was no answer yet.
func (h *Handle) shown() (sequencer.Attachment, sequencer.Print, bool) {
	held, has := h.Control.Held()
	if !has {
		return sequencer.Attachment{}, h.bare, true
	}
	return h.seen, h.print, h.seen.ID == held.ID
}

// detachIdle detaches a handle that has made no ID for as long as its user allows.
func (m *Machine) detachIdle(now Now, h *Handle) {
	if !h.busy && h.Control.Idle(now.Time) {
		h.busy = true
		m.effects.Detach = append(m.effects.Detach, h)
	}
}

// Detached takes in the end of an idle detach, done or failed.
func (m *Machine) Detached(h *Handle) { h.busy = false }
