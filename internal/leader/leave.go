package leader

import (
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Leave takes a member's request to leave, and replies nil once that member has said so
// itself. The member may end when [Leader.Departed] reports true. failed says that its
// disk has failed: it counts as dead, since it could hand nothing over.
func (l *Leader) Leave(v View, inc roster.Incarnation, failed bool, reply func(error)) {
	m, known := v.Roster.Member(inc)
	if !known { // it is out of the roster, and may still be a server that votes
		for _, p := range v.Peers {
			if p.Incarnation == inc {
				m.API, known = p.API, true
			}
		}
	}
	recorded := l.requests.leaves[inc] && (l.requests.failed[inc] || !failed)
	switch {
	case recorded || !known || inc == l.self && v.Leaving && !failed:
		reply(nil) // a process that is not a member has nothing to leave
		return
	case inc == l.self:
		reply(failure.Errorf(ErrBadRequest, "grid: leave refused: member %s is this one, and it is not leaving", inc))
		return
	}
	l.inquire(v, m.API, inquiry{member: inc, reply: reply, then: func(_ View, _ uint64, a Answer, err error) (bool, error) {
		if err != nil {
			return true, silent(inc, m.API, err)
		}
		if err := confirmsLeave(inc, failed, a); err != nil {
			return true, err
		}
		l.requests.leaves[inc] = true
		if failed {
			l.requests.failed[inc] = true
		}
		return true, nil
	}})
}

// confirmsLeave returns nil if a member says of itself that it leaves, as a request
// states.
func confirmsLeave(inc roster.Incarnation, failed bool, a Answer) error {
	switch {
	case failed && !a.DiskFailed:
		return failure.Errorf(ErrBadRequest, "grid: leave refused: member %s does not confirm that its disk has failed", inc)
	case !a.Leaving:
		return failure.Errorf(ErrBadRequest, "grid: leave refused: member %s does not confirm that it is leaving", inc)
	}
	return nil
}
