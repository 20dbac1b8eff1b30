package leader

import (
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// leave handles a member's request to leave, and replies nil once that member has confirmed it.
// failed means that its disk has failed: it counts as dead, because it cannot hand over.
func (q *admission) leave(v View, inc roster.Incarnation, failed bool, reply func(error)) {
	m, known := v.Roster.Member(inc)
	if !known { // it is out of the roster, and may still be a server that votes
		for _, p := range v.Peers {
			if p.Incarnation == inc {
				m.API, known = p.API, true
			}
		}
	}
	recorded := q.leaves[inc] && (q.failed[inc] || !failed)
	self := inc == q.self.Incarnation
	switch {
	case recorded || !known || self && v.Leaving && !failed:
		reply(nil) // a process that is not a member has nothing to leave
		return
	case self:
		reply(failure.Errorf(ErrBadRequest, "grid: leave refused: member %s is this one, and it is not leaving", inc))
		return
	}
	q.inquiries.start(v, m.API, inquiry{member: inc, reply: reply, then: func(_ View, _ uint64, a Answer,
		err error) (bool, error) {
		if err != nil {
			return true, silent(inc, m.API, err)
		}
		if err := confirmsLeave(inc, failed, a); err != nil {
			return true, err
		}
		q.leaves[inc] = true
		if failed {
			q.failed[inc] = true
		}
		return true, nil
	}})
}

// confirmsLeave returns nil if a member's own answer confirms its request to leave.
func confirmsLeave(inc roster.Incarnation, failed bool, a Answer) error {
	switch {
	case failed && !a.DiskFailed:
		return failure.Errorf(ErrBadRequest, "grid: leave refused: member %s does not confirm that its disk has failed", inc)
	case !a.Leaving:
		return failure.Errorf(ErrBadRequest, "grid: leave refused: member %s does not confirm that it is leaving", inc)
	}
	return nil
}
