package partition

import (
	"fmt"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Attach gives a holder a logical node: the preferred one if that is free, unless
// any will do.
func (m *Machine) Attach(v View, h attachment.HolderID, c Claim, reply func(attachment.Attachment, error)) {
	serve(m, v, func(b Bounds) (attachment.Attachment, dependency, error) {
		a, err := m.attach(v, b, h, c)
		return a, onTable, err
	}, replyFunc[attachment.Attachment](reply))
}

func (m *Machine) attach(v View, b Bounds, h attachment.HolderID, c Claim) (a attachment.Attachment, err error) {
	name := c.Ref.Definition.Name()
	if m.ending[name] != nil {
		return a, fmt.Errorf("sequencer %q: %w", name, sequencer.ErrDestroyed)
	}
	c, err = m.judge(v, c)
	if err != nil {
		return a, err
	}
	if (c.Any || !c.Previous.IsZero()) && m.learner.isLearning(v) { // a holder may be about to claim any node
		return a, failure.Errorf(sequencer.ErrUnavailable, "sequencer %q: %s", name, m.learner.waitsForHolders(v))
	}
	m.expirePrevious(b, c)
	if err := m.withinQuota(h, c); err != nil {
		return a, err
	}
	life := m.table.lifeOf(name)
	a, changed, err := m.table.Attach(c, b)
	if err == nil {
		m.took(v, h, c, a, life, changed)
	}
	return a, err
}

// expirePrevious ends the attachment of a holder's earlier process on the logical node that its
// successor requests. This is an early expiry: all that was granted stays granted, and the
// successor begins above it, so safety does not depend on the earlier process having ended. If that
// process is still alive, for instance with a copied data directory, it is notified that its node
// was given to another holder. Only the holder has the attachment's ID.
func (m *Machine) expirePrevious(b Bounds, c Claim) {
	name := c.Ref.Definition.Name()
	if c.Previous.IsZero() || c.Previous == c.ID || c.Any || m.table.lifeOf(name) != c.Ref.Life {
		return
	}
	until, known := m.sessions.Until(name, c.Previous)
	if !known {
		until = b.Ceiling
	}
	if m.table.Expire(name, c.Node, c.Previous, until) {
		m.changed(name, c.Previous)
		m.sessions.Drop(name, c.Previous)
	}
}
