package session

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Handle is the machine's record of one handle. The machine reads the control and
// changes the handle by effects only.
type Handle struct {
	Control *attachment.Control

	name    string
	stripe  bool
	removed bool

	seen attachment.Attachment // the newest answer about an attachment
	// answered is the stamp of the newest answer about the life.
	answered Stamp
	heard    time.Duration // when the newest answer about the life came
	// print is the life's fingerprint with that attachment, bare without one.
	print, bare attachment.Fingerprint

	next     time.Duration // when to renew next
	failures int           // consecutive failed renewals
	shorts   int           // replies in succession with short grants
	failedAt string        // the owner at which the last one failed, "" for none
	denied   bool          // its renewal was denied, and not renewed since
	busy     bool          // an idle detach or a replacement is in progress
	loss     *loss         // not nil while its lost logical node is being replaced
	reported use           // the use reported to owners
}

// Claim is a handle as presented to an owner; with a zero ID it has no attachment. Grid, Version and
// Until identify its newest grant, or the newest reply about the generation without one.
type Claim struct {
	Ref attachment.Ref
	ID  attachment.ID
	attachment.Preference
	Grid    roster.GridID
	Version roster.Version
	Until   clustertime.Tick
}

func (h *Handle) claim(a attachment.Attachment) Claim {
	return Claim{
		Ref: h.Control.Ref(), ID: a.ID, Preference: attachment.Preference{Node: a.Node},
		Grid: h.answered.Grid, Version: h.answered.Version, Until: a.Grant.Until,
	}
}

// AttachClaim returns the claim for a logical node, under a fresh attachment ID.
func (h *Handle) AttachClaim(id attachment.ID, p attachment.Preference) Claim {
	c := h.claim(attachment.Attachment{ID: id})
	c.Preference = p
	return c
}

// Attached applies the reply to an attach sent at began: the handle receives a logical node.
func (m *Machine) Attached(now Now, h *Handle, a attachment.Attachment, s Stamp, began time.Duration) {
	m.Stamped(now, s, began)
	h.saw(s, now)
	h.told(a)
	h.next = now.Mono + m.pause()
}

// AttachFailed records a failed attach by the user: the handle is renewed as it is, so that a destroy
// reaches it.
func (m *Machine) AttachFailed(now Now, h *Handle) { h.next = now.Mono }

// saw records the newest reply about the generation, and its time. An overtaken reply must not replace
// it: the grid would take it for a reply from before a loss.
func (h *Handle) saw(s Stamp, now Now) {
	h.heard = now.Mono
	if s.Grid != h.answered.Grid || s.Version >= h.answered.Version {
		h.answered = s
	}
	h.failures, h.denied = 0, false
}

// told records the owner's newest full reply about an attachment.
func (h *Handle) told(a attachment.Attachment) {
	h.seen, h.print = a, attachment.FingerprintOf(h.Control.Ref().Life, a)
}

// shown returns the newest full reply about the handle's attachment, or a zero Attachment without one,
// and its fingerprint; false if there was no reply yet.
func (h *Handle) shown() (attachment.Attachment, attachment.Fingerprint, bool) {
	held, has := h.Control.Held()
	if !has {
		return attachment.Attachment{}, h.bare, true
	}
	return h.seen, h.print, h.seen.ID == held.ID
}

// Detached records the end of an idle detach, done or failed.
func (m *Machine) Detached(h *Handle) { h.busy = false }
