package partition

// expirePrevious ends the attachment that an earlier process of a holder had on the logical
// node that its successor asks for. It is an expiry before its time: all that was granted
// stays granted, and the successor begins above it, so nothing depends on the earlier process
// having ended. A process that is alive after all, such as one with a copied data directory,
// is told that its node was given to another holder. The attachment's ID is known to its
// holder alone.
func (m *Machine) expirePrevious(b Bounds, c Claim) {
	name := c.Ref.Definition.Name()
	if c.Previous.IsZero() || c.Previous == c.ID || c.Any || m.life(name) != c.Ref.Life {
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
