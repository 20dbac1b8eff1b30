package leader

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// The leader pushes each command to every member. The answer to a push contains the answer to
// a probe, so the detector treats it as one and delays the next probe. A push without an
// answer has no effect: only probes fail.

// pushAnswered records a member's answer to a push that began at a time, and reports whether a
// step is due by it. The call that began later decides, so the failure of a probe that began
// after the push stands. A probe that Raft has requested since then stays due.
func (d *detector) pushAnswered(v View, to roster.Incarnation, began time.Duration, a Answer) (due bool) {
	c := d.contacts[to]
	if c == nil || a.foreign(v.Roster) || began < c.admitted || began < c.failed {
		return false
	}
	return d.judgeAgain(v, to, c, func() {
		if d.noteAnswer(v, c, began, a) && began >= c.signed {
			c.next = max(c.next, v.Mono+d.pause(v, to))
		}
	})
}

// noteAnswer records an answer to a call that began at a time, and reports whether the member
// is up to date, which ends its failure. A lagging member is not absent.
func (d *detector) noteAnswer(v View, c *contact, began time.Duration, a Answer) bool {
	c.noteTrip(v.Mono - began)
	c.said, c.release, c.zone = true, a.Release, a.Record.Zone
	c.absent = false
	c.refused.Note(began, nil)
	if len(d.versions) > 0 && a.Version < d.versions[0].version {
		return false
	}
	c.failing, c.heard, c.answered = false, true, max(c.answered, began)
	return true
}
