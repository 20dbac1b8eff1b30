package partition

import (
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Claim is an attachment as its holder shows it; with a zero ID it is a handle
// without one. Grid, Version and Until are of its newest grant, or of the last answer
// about the life if there is none.
type Claim struct {
	Ref sequencer.Ref
	ID  sequencer.AttachmentID
	sequencer.Preference
	Grid    roster.GridID
	Version roster.Version
	Until   clustertime.Tick
	// Previous is the attachment that an earlier process of the same holder had on Node,
	// zero for none; see expirePrevious. Only an attach has one.
	Previous sequencer.AttachmentID
	// Limit is the holder's limit; its caller has checked that the name is within it.
	Limit Limit
	// Peer is whose claim it is, and Quota what it may have; see [Machine.withinQuota].
	Peer  Peer
	Quota Quota
	// Trust has the owner's conclusions from the rest, for its table. A holder cannot
	// set it.
	Trust
}

// Trust is how far a table believes a claim that it has no record of. The zero value
// believes nothing: an unknown name counts as destroyed.
type Trust struct {
	// Forgotten reports that the grid may have forgotten the name after the holder last
	// heard of it, so the table creates it again from Ref.
	Forgotten bool
	// Before reports that Ref is of this grid, from before the last loss: of two lives
	// that were only shown since, the later one counts.
	Before bool
	// Shown is the end of a grant of Node by another life of the grid. Until then the
	// table keeps the node for such holders, and believes nothing else of it; 0 is none.
	Shown clustertime.Tick
}

// names returns ErrBadClaim if the claim names no attachment.
func (c Claim) names() error {
	if !c.ID.IsZero() {
		return nil
	}
	return failure.Errorf(ErrBadClaim, "sequencer %q: the attachment ID is zero; give random bits", c.Ref.Definition.Name())
}

// check refuses a claim that cannot be served: of another life of the grid with a
// grant beyond the floor, of a later version than this owner knows, or one that was
// given back.
func (m *Machine) check(v View, c Claim) error {
	if err := m.checkEarlier(v, c); err != nil {
		return err
	}
	name := c.Ref.Definition.Name()
	if c.Grid == v.Roster.Identity() && c.Version > v.Roster.Version {
		// An owner that was replaced unheard, and has no replica to ask, would take
		// a life that began since for one that has ended.
		return failure.Errorf(sequencer.ErrUnavailable, "sequencer %q: its holder was answered at version %d of the roster, and this member knows %d", name, c.Version, v.Roster.Version)
	}
	if m.life(name) == c.Ref.Life {
		return m.released.refuse(name, c.ID)
	}
	if v.ofLaterClaim(c) {
		return failure.Errorf(sequencer.ErrUnavailable, "sequencer %q: its holder was answered under another claim of the grid's anchor, and this member has heard of no raise of the ceiling for a while",
			name)
	}
	return m.notYet(v, c)
}

// withTrust returns a claim with the owner's trust in it. The claim may be about a life that
// the grid forgot in a loss.
func (m *Machine) withTrust(v View, c Claim) Claim {
	lost := roster.Version(v.Roster.Partitions[m.id].LostTerm)
	c.Trust = Trust{
		Forgotten: m.mayRecreate(v) && (c.Grid != v.Roster.Identity() || c.Version < lost) || m.neverHeard(v, c),
		Shown:     m.shownUntil(v, c),
		Before:    c.Grid == v.Roster.Identity() && roster.Version(c.Ref.Born.Term) < lost,
	}
	return c
}

// neverHeard reports whether a claim is of an earlier grid, about a name that this grid need
// not have heard of: what its voters keep in memory began with it. Once an anchored grid has been
// reset, a holder of another claim may be one of this grid, which knows that the name is over. Only
// a grant that ended before the grid began is of another one then, and a handle has none at first.
func (m *Machine) neverHeard(v View, c Claim) bool {
	if !m.replica.InMemory() || c.Grid == v.Roster.Identity() {
		return false
	}
	return v.Roster.Claim == "" || !v.Roster.Restarted || c.Until > 0 && c.Until < v.Roster.Began
}

// took performs the effects of a claim that the table has accepted: before is the earlier
// life of the name.
func (m *Machine) took(v View, h sequencer.HolderID, c Claim, a sequencer.Attachment, before sequencer.Life, changed bool) {
	name := c.Ref.Definition.Name()
	if !before.IsZero() && m.life(name) != before {
		// That life has given way to a later one: its attachments are not recorded
		// any longer, so none of them may be extended without a check.
		m.sessions.DropName(name)
	}
	if changed {
		m.changed(name, c.ID)
	}
	m.giveWay(name, v.Mono)
	m.show(v, h, c, a)
	m.sessions.seenFrom(h, c.Peer)
	if !c.ID.IsZero() {
		m.table.use(name, v.Mono)
	}
}

// show records that a holder showed a handle of a life, with the reply.
func (m *Machine) show(v View, h sequencer.HolderID, c Claim, a sequencer.Attachment) {
	m.sessions.Show(Tenant{
		ID: a.ID, Holder: h, Name: c.Ref.Definition.Name(), Node: a.Node, Print: sequencer.PrintOf(c.Ref.Life, a), Limit: c.Limit,
	}, v.Mono)
}
