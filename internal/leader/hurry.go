package leader

import "github.com/snowgrid/snowgrid/internal/roster"

// hurry notes when the next probe of a member is due, if that is before the next ordinary
// step.
func (l *Leader) hurry(v View, c *contact) {
	if !c.probing {
		l.due = min(l.due, max(c.next, v.Mono))
	}
}

// detectorProbed takes in a probe of the failure detector.
func (l *Leader) detectorProbed(v View, p Probe, a Answer, err error) {
	c := l.detector.contacts[p.To]
	if c == nil {
		return
	}
	l.reconsider(v, p.To, c, func() { l.detector.probed(v, p, a, err) })
	if c.failing || err == nil && p.began < c.signed {
		l.hurry(v, c)
	}
}

// reconsider has the outcome of a call recorded, and reports whether a step is due by it: a
// member that becomes suspect or dead is replaced immediately.
func (l *Leader) reconsider(v View, of roster.Incarnation, c *contact, record func()) (due bool) {
	suspect, dead := c.verdict(v, of)
	record()
	if s, d := c.verdict(v, of); s != suspect || d != dead {
		l.due = v.Mono
		return true
	}
	return false
}
