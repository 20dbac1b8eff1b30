package partition

import (
	"github.com/snowgrid/snowgrid/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"

	"github.com/snowgrid/snowgrid/roster"
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
}

// check refuses a claim that cannot be served: of another life of the grid with a
// grant beyond the floor, of a later version than this owner knows, or one that was
// given back.
func (m *Machine) check(v View, c Claim) error {
	if err := m.checkEarlier(v, c); err != nil {
		return err
	}
	name := c.Ref.Definition.Name()
	if c.Grid == v.Roster.Grid && c.Version > v.Roster.Version {
		// An owner that was replaced unheard, and has no replica to ask, would take
		// a life that began since for one that has ended.
		return failure.Errorf(sequencer.ErrUnavailable, "sequencer %q: its holder was answered at version %d of the roster, and this member knows %d", name, c.Version, v.Roster.Version)
	}
	if m.life(name) == c.Ref.Life {
		return m.given.refuse(name, c.ID)
	}
	return m.notYet(v, c)
}

// forTable is what the table needs to know of a claim. What was shown may be about a
// life that a loss made the grid forget.
func (m *Machine) forTable(v View, c Claim) TableClaim {
	lost := roster.Version(v.Roster.Partitions[m.id].LostTerm)
	forgotten := m.mayRecreate(v) && (c.Grid != v.Roster.Grid || c.Version < lost)
	return TableClaim{
		Ref: c.Ref, ID: c.ID, Preference: c.Preference, Forgotten: forgotten,
		Shown:  m.shownUntil(v, c),
		Before: c.Grid == v.Roster.Grid && roster.Version(c.Ref.Born.Term) < lost,
	}
}

// took does what follows from a claim that the table has taken: before is the life
// that the name had.
func (m *Machine) took(v View, h sequencer.HolderID, c Claim, a sequencer.Attachment, before sequencer.Life, changed bool) {
	name := c.Ref.Definition.Name()
	if !before.IsZero() && m.life(name) != before {
		// That life has given way to a later one: its attachments are not recorded
		// any more, so nobody's may be extended unseen.
		m.sessions.DropName(name)
	}
	if changed {
		m.changed(name, c.ID)
	}
	m.giveWay(name, v.Mono)
	m.show(v, h, c.Ref, a)
}

// show notes that a holder showed a handle of a life, with what it was answered.
func (m *Machine) show(v View, h sequencer.HolderID, ref sequencer.Ref, a sequencer.Attachment) {
	m.sessions.Show(Tenant{
		ID: a.ID, Holder: h, Name: ref.Definition.Name(), Node: a.Node, Print: sequencer.PrintOf(ref.Life, a),
	}, v.Mono)
}
