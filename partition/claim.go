package partition

import (
	"fmt"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Claim is an attachment as presented by its holder; with a zero ID, a handle without one. Grid,
// Version and Until identify the newest grant, or the last reply about the life if there is no
// grant.
type Claim struct {
	Ref attachment.Ref
	ID  attachment.ID
	attachment.Preference
	Grid    roster.GridID
	Version roster.Version
	Until   clustertime.Tick
	// Previous is the attachment that an earlier process of the same holder had on Node,
	// zero for none; see expirePrevious. Only an attach has one.
	Previous attachment.ID
	// Limit is the holder's limit; its caller has checked that the name is within it.
	Limit Limit
	// Peer is the credential behind the claim, and Quota its quota; see [Machine.withinQuota].
	Peer  Peer
	Quota Quota
	// Trust has the owner's conclusions from the rest, for its table. A holder cannot
	// set it.
	Trust
}

// Trust controls how a table treats a claim without a record. The zero value rejects it: an unknown
// name counts as destroyed.
type Trust struct {
	// Forgotten allows the table to create the name again from Ref, because a loss may have erased
	// it after the holder's last reply.
	Forgotten bool
	// Before reports that Ref was created in this grid before the last loss: if two lives are known
	// only from claims, the later one wins.
	Before bool
	// Shown is the end of a grant of Node from another run of the grid. Until then the table
	// reserves the node for such holders, and draws no other conclusion from it; 0 is none.
	Shown clustertime.Tick
}

// names returns failure.ErrBadClaim if the claim names no attachment.
func (c Claim) names() error {
	if !c.ID.IsZero() {
		return nil
	}
	return failure.Errorf(failure.ErrBadClaim, "sequencer %q: the attachment ID is zero; give random bits",
		c.Ref.Definition.Name())
}

// took performs the effects of a claim that the table has accepted: before is the name's earlier
// life.
func (m *Machine) took(v View, h attachment.HolderID, c Claim, a attachment.Attachment, before attachment.Life,
	changed bool) {
	name := c.Ref.Definition.Name()
	if !before.IsZero() && m.table.lifeOf(name) != before {
		// That life has given way to a later one: its attachments are not recorded
		// any longer, so none of them may be extended without a check.
		m.sessions.DropName(name)
	}
	if changed {
		m.changed(name, c.ID)
	}
	if e := m.ending[name]; e != nil && m.table.lifeOf(name) != e.ref.Life { // a later life has replaced that one
		delete(m.ending, name)
		m.answerEnding(e, fmt.Errorf("sequencer %q: %w", name, sequencer.ErrDestroyed), v.Mono)
	}
	m.show(v, h, c, a)
	m.sessions.seenFrom(h, c.Peer)
	if !c.ID.IsZero() {
		m.table.use(name, v.Mono)
	}
}

// show records that a holder presented a handle on a life, with the reply.
func (m *Machine) show(v View, h attachment.HolderID, c Claim, a attachment.Attachment) {
	m.sessions.Show(Tenant{
		ID: a.ID, Holder: h, Name: c.Ref.Definition.Name(), Node: a.Node, Print: attachment.FingerprintOf(c.Ref.Life, a),
		Limit: c.Limit,
	}, v.Mono)
}
