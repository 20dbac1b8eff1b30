package partition

// expirePrevious ends the attachment of a holder's earlier process on the logical node that its
// successor requests. This is an early expiry: all that was granted stays granted, and the
// successor begins above it, so safety does not depend on the earlier process having ended. If that
// process is still alive, for instance with a copied data directory, it is notified that its node
// was given to another holder. Only the holder has the attachment's ID.
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
