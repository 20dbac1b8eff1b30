package partition

import (
	"fmt"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Attach gives a holder a logical node: the preferred one if that is free, unless
// any will do.
func (m *Machine) Attach(v View, h sequencer.HolderID, c Claim, reply func(sequencer.Attachment, error)) {
	serve(m, v, func(b Bounds) (sequencer.Attachment, error) { return m.attach(v, b, h, c) },
		replyFunc[sequencer.Attachment](reply))
}

func (m *Machine) attach(v View, b Bounds, h sequencer.HolderID, c Claim) (a sequencer.Attachment, err error) {
	name := c.Ref.Definition.Name()
	if m.ending[name] != nil {
		return a, fmt.Errorf("sequencer %q: %w", name, sequencer.ErrDestroyed)
	}
	if err := m.check(v, c); err != nil {
		return a, err
	}
	if (c.Any || !c.Previous.IsZero()) && m.isLearning(v) { // a holder may be about to claim any node
		return a, failure.Errorf(sequencer.ErrUnavailable, "sequencer %q: %s", name, m.waitsForHolders(v))
	}
	m.expirePrevious(b, c)
	if err := m.withinQuota(v, h, c); err != nil {
		return a, err
	}
	life := m.life(name)
	a, changed, err := m.table.Attach(m.withTrust(v, c), b)
	if err != nil {
		return sequencer.Attachment{}, err
	}
	m.took(v, h, c, a, life, changed)
	return a, nil
}

// Detach takes a logical node back (O3).
func (m *Machine) Detach(v View, h sequencer.HolderID, ref sequencer.Ref, rel sequencer.Release, reply func(error)) {
	serve(m, v, func(Bounds) (struct{}, error) {
		m.detach(v, h, ref, rel)
		return struct{}{}, nil
	}, errorFunc(reply))
}

func (m *Machine) detach(v View, h sequencer.HolderID, ref sequencer.Ref, rel sequencer.Release) {
	name := ref.Definition.Name()
	if m.table.Detach(ref, rel) {
		m.changed(name, rel.ID)
		m.released.note(rel.ID, v.Mono)
		m.table.use(name, v.Mono)
	}
	limit := m.sessions.LimitOf(h)
	m.sessions.Drop(name, rel.ID)
	if m.ending[name] == nil {
		m.show(v, h, Claim{Ref: ref, Limit: limit}, sequencer.Attachment{}) // the handle is still there, Detached
	} else {
		m.endIfSilent(name, v.Mono)
	}
}
