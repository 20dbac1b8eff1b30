package leader

import (
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Join takes a member's request to join. It is confirmed in up to two probes:
//
//	            confirms it           the ID is not registered, or that start is silent
//	newcomer ---------------> is its ID registered? -----------------------> admitted soon
//	    |                            | by a start that answers
//	    +----------------------------+-------------------------------------> refused
//
// The reply is nil once the request is recorded; a later step admits the member, which
// repeats its request until the roster has it.
func (l *Leader) Join(v View, in roster.Member, reply func(error)) {
	j, known := l.requests.joins[in.Incarnation]
	if known && j.member == in && v.Mono-j.at < joinKept/2 {
		reply(nil) // it was confirmed a moment ago
		return
	}
	l.inquire(v, in.API, inquiry{member: in.Incarnation, reply: reply, then: func(v View, round uint64, a Answer, err error) (bool, error) {
		if err != nil {
			return true, silent(in.Incarnation, in.API, err)
		}
		if err := confirmsJoin(in, l.cfg.Grid, v.Roster, a); err != nil {
			return true, err
		}
		if err := l.checkRelease(v.Roster, in, a); err != nil {
			return true, err
		}
		return l.checkClone(v, join{member: in, release: a.Release, learns: a.Learns}, round)
	}})
}

// confirmsJoin returns nil if a member says of itself the same as its request.
func confirmsJoin(in roster.Member, grid roster.GridID, r *roster.Roster, a Answer) error {
	switch {
	case a.Grid != grid:
		return failure.Errorf(ErrBadRequest, "grid: join refused: the member at %.80q is in grid %s, this is grid %s", in.API, a.Grid, grid)
	case a.foreign(r):
		return failure.Errorf(ErrOtherClaim, "grid: join refused: the member at %.80q is registered in grid %s under another claim of its anchor", in.API, a.Grid)
	case a.Record != in:
		return failure.Errorf(ErrBadRequest, "grid: join refused: the member at %.80q is %+v by its own answer, and %+v by the request", in.API, a.Record, in)
	}
	return nil
}

// checkClone probes the registered start of the newcomer's member ID, if it is another
// one. A data directory that was copied gives two processes one member ID, and in Raft
// one vote: they would take each other's place in the roster without end. After a crash
// the address of the earlier start refuses connections, or the restarted process answers
// there, and nothing is waited for.
func (l *Leader) checkClone(v View, j join, round uint64) (done bool, err error) {
	other, found := registered(v.Roster, j.member.Incarnation.Member())
	switch {
	case !found || other.Incarnation == j.member.Incarnation:
		return true, l.admit(v, j)
	case other.Incarnation == l.self:
		return true, inUse(other)
	}
	l.inquiry.open[round].then = func(v View, _ uint64, a Answer, err error) (bool, error) {
		if err == nil && !a.foreign(v.Roster) {
			return true, inUse(other)
		}
		j.instead = other.Incarnation
		return true, l.admit(v, j)
	}
	l.probe(v, other.Incarnation, other.API, forInquiry, round)
	return false, nil
}

func inUse(other roster.Member) error {
	return failure.Errorf(ErrIdentityInUse, "grid: another process has this member's identity: member %s runs at %s as %s",
		other.Incarnation.Member(), other.API, other.Incarnation)
}

// admit records a join that was confirmed.
func (l *Leader) admit(v View, j join) error {
	q := &l.requests
	if len(q.joins) >= joinsMax {
		return failure.Errorf(ErrUnavailable, "grid: %d members are joining already", len(q.joins))
	}
	j.at = v.Mono
	q.forgetStarts(j.member.Incarnation)
	q.joins[j.member.Incarnation] = j
	return nil
}
