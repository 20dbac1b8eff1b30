package leader

import (
	"errors"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// join handles a member's request to join. Up to two probes confirm it:
//
//	            confirms it           the ID is not registered, or that start is silent
//	newcomer ---------------> is its ID registered? -----------------------> admitted soon
//	    |                            | by a start that answers
//	    +----------------------------+-------------------------------------> refused
func (q *admission) join(v View, in roster.Member, reply func(error)) {
	j, known := q.joins[in.Incarnation]
	if known && j.member == in && v.Mono-j.at < joinKept/2 {
		reply(nil) // confirmed recently
		return
	}
	q.inquiries.start(v, in.API, inquiry{member: in.Incarnation, reply: reply, then: func(v View, round uint64, a Answer,
		err error) (bool, error) {
		if err != nil {
			return true, silent(in.Incarnation, in.API, err)
		}
		if err := confirmsJoin(in, q.grid, v.Roster, a); err != nil {
			return true, err
		}
		if err := q.checkRelease(v.Roster, in, a); err != nil {
			return true, err
		}
		return q.checkClone(v, join{member: in, release: a.Release}, round)
	}})
}

// confirmsJoin returns nil if a member's own answer agrees with its request.
func confirmsJoin(in roster.Member, grid roster.GridID, r *roster.Roster, a Answer) error {
	switch {
	case a.Grid != grid:
		return failure.Errorf(ErrBadRequest, "grid: join refused: the member at %.80q is in grid %s, this is grid %s",
			in.API, a.Grid, grid)
	case a.foreign(r):
		return failure.Errorf(ErrOtherClaim,
			"grid: join refused: the member at %.80q is registered in grid %s under another claim of its anchor", in.API, a.Grid)
	case a.Record != in:
		return failure.Errorf(ErrBadRequest,
			"grid: join refused: the member at %.80q is %+v by its own answer, and %+v by the request", in.API, a.Record, in)
	}
	return nil
}

// checkRelease refuses a member that cannot read the grid's roster, or has no protocol in
// common with this one.
func (q *admission) checkRelease(r *roster.Roster, in roster.Member, a Answer) error {
	if p := r.InUse(); !a.Release.Reads(p) {
		return failure.Errorf(ErrBadRequest, "grid: join refused: the member at %.80q runs %s, the leader %s, and the grid "+
			"uses protocol %d; start the member with a release that has protocol %d",
			in.API, a.Release, q.release, p, p)
	}
	if err := a.Release.Meets(q.release); err != nil {
		return failure.Errorf(ErrBadRequest, "grid: join refused: the member at %.80q: %w", in.API, err)
	}
	return nil
}

// checkClone probes the registered start of the newcomer's member ID, if it is another
// one. A copied data directory gives two processes one member ID, and in Raft one vote: they
// would replace each other in the roster indefinitely. After a crash the address of the earlier
// start refuses connections, or the restarted process answers there, without a wait. If a third
// start answers there, the roster is older than that one, as in a copy, and it has the identity.
func (q *admission) checkClone(v View, j join, round uint64) (done bool, err error) {
	other, found := registered(v.Roster, j.member.Incarnation.Member())
	switch {
	case !found || other.Incarnation == j.member.Incarnation:
		return true, q.admit(v, j)
	case other.Incarnation == q.self.Incarnation:
		return true, inUse(other)
	}
	q.inquiries.open[round].then = func(v View, _ uint64, a Answer, err error) (bool, error) {
		if err := inUseBy(v, j, other, a, err); err != nil {
			return true, err
		}
		j.instead = other.Incarnation
		return true, q.admit(v, j)
	}
	q.inquiries.probeMember(v, other, round)
	return false, nil
}

// inUseBy returns an error if the answer to a probe of the registered start shows another process
// than the newcomer with its identity.
func inUseBy(v View, j join, registered roster.Member, a Answer, err error) error {
	if err != nil || a.foreign(v.Roster) || a.Record.Incarnation == j.member.Incarnation {
		return nil
	}
	registered.Incarnation = a.Record.Incarnation
	return inUse(registered)
}

// joinSelf requests that this member joins the roster, and reports whether it may lead. Like any other
// it replaces an earlier start of its ID only if that is silent: in a grid whose voters all run on
// copied directories no other member leads. Until then it proposes nothing.
func (q *admission) joinSelf(v View) bool {
	self := q.self.Incarnation
	if _, in := v.Roster.Member(self); in {
		return true
	}
	mine := join{member: q.self, at: v.Mono, release: q.release}
	before, found := registered(v.Roster, self.Member())
	if !found {
		q.joins[self] = mine
		return true
	}
	mine.instead = before.Incarnation
	j, known := q.joins[self]
	known = known && j.instead == before.Incarnation
	if known && v.Mono-j.at < joinKept/2 || !q.inquiries.room(before.Incarnation, true) { // asked recently, or being asked
		return known
	}
	refused := func(err error) { // another process has this member's identity
		if errors.Is(err, ErrIdentityInUse) {
			q.out.InUse(err)
		}
	}
	round := q.inquiries.add(&inquiry{member: before.Incarnation, reply: refused,
		then: func(v View, _ uint64, a Answer, err error) (bool, error) {
			err = inUseBy(v, mine, before, a, err)
			if q.refused = err != nil; q.refused {
				return true, err
			}
			return true, q.admit(v, mine)
		}})
	q.inquiries.probeMember(v, before, round)
	return known
}

func inUse(other roster.Member) error {
	return failure.Errorf(ErrIdentityInUse, "grid: another process has this member's identity: member %s runs at %s as %s",
		other.Incarnation.Member(), other.API, other.Incarnation)
}
