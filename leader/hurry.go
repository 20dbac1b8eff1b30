package leader

// hurry notes when the next probe of a member is due, if that is before the next ordinary
// step.
func (l *Leader) hurry(v View, c *contact) {
	if !c.probing {
		l.due = min(l.due, max(c.next, v.Mono))
	}
}

// detectorProbed takes in a probe of the failure detector. A member that becomes suspect or
// dead by it is replaced immediately.
func (l *Leader) detectorProbed(v View, p Probe, a Answer, err error) {
	c := l.detector.contacts[p.To]
	if c == nil {
		return
	}
	seen := v.sees(p.To)
	suspect, dead := c.suspect(seen, v.Mono), c.dead(seen, v.Mono)
	l.detector.probed(v, p, a, err)
	if suspect != c.suspect(seen, v.Mono) || dead != c.dead(seen, v.Mono) {
		l.due = v.Mono
	}
	if c.failing {
		l.hurry(v, c)
	}
}
