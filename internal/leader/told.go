package leader

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// The leader pushes each command to every member, and the answer to a push says all that the
// answer to a probe says. So it counts as one, and the next probe is due later. A push without
// an answer has no effect: only a probe fails.

// Told records a member's answer to a push that began at a time by the monotonic clock. It
// reports whether a step is due by it. If not, [Leader.Due] need not be asked: the next step
// is not due sooner than before.
func (l *Leader) Told(v View, to roster.Incarnation, began time.Duration, a Answer) (due bool) {
	c := l.detector.contacts[to]
	if c == nil || a.foreign(v.Roster) {
		return false
	}
	return l.reconsider(v, to, c, func() { l.detector.told(v, to, began, a) })
}

// told records a member's answer to a push. The call that began later decides, so the failure
// of a probe that began after the push stands. A probe that Raft has asked for since then stays
// due.
func (d *detector) told(v View, to roster.Incarnation, began time.Duration, a Answer) {
	c := d.contacts[to]
	if c == nil || began < c.admitted || began < c.failed {
		return
	}
	if d.noteAnswer(c, began, a) && began >= c.signed {
		c.next = max(c.next, v.Mono+d.pause(v, to))
	}
}

// noteAnswer records an answer to a call that began at a time, and reports whether the member
// is up to date, and so no longer fails. A member that lags is not absent.
func (d *detector) noteAnswer(c *contact, began time.Duration, a Answer) bool {
	c.said, c.learns, c.waits, c.release, c.zone = true, a.Learns, a.Waits, a.Release, a.Record.Zone
	c.absent = false
	c.refused.Note(began, nil)
	if len(d.versions) > 0 && a.Version < d.versions[0].version {
		return false
	}
	c.failing, c.heard, c.answered = false, true, max(c.answered, began)
	return true
}
