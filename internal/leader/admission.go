package leader

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
)

const (
	// joinKept is the lifetime for an unrepeated request to join.
	joinKept = 3 * time.Second
	// joinsMax bounds the members that join at the same time.
	joinsMax = 256
)

// admission records which members join and leave, as they have confirmed it themselves.
type admission struct {
	self    roster.Member // this leader's record
	grid    roster.GridID
	release roster.Release // of this process
	out     Member
	refused bool                // this member's identity is in use
	silent  func(ServerID) bool // see [voters]

	inquiries inquiries
	joins     map[roster.Incarnation]join
	leaves    map[roster.Incarnation]bool // members that leave, except this one
	failed    map[roster.Incarnation]bool // the leaving members whose disk has failed
}

type join struct {
	member roster.Member
	at     time.Duration
	// instead is the member's registered incarnation, which did not answer.
	instead roster.Incarnation
	release roster.Release
}

func (j join) server() ServerID { return ServerOf(j.member.Incarnation, j.member.Durable) }

// admit records a confirmed request to join.
func (q *admission) admit(v View, j join) error {
	if len(q.joins) >= joinsMax {
		return failure.Errorf(ErrUnavailable, "grid: join refused: %d members are joining, which is the limit; try again",
			len(q.joins))
	}
	j.at = v.Mono
	q.forgetStarts(j.member.Incarnation)
	q.joins[j.member.Incarnation] = j
	return nil
}

// joining returns, sorted, the requests to join. It drops requests that are too old, requests
// by members or by processes that cannot read the roster, and requests that would replace another
// incarnation than the silent one.
func (q *admission) joining(v View) []join {
	var out []join
	for inc, j := range q.joins {
		_, in := v.Roster.Member(inc)
		if v.Mono-j.at > joinKept || q.isLeaving(v, inc) || in || j.replaces(v.Roster) || !j.release.Reads(v.Roster.InUse()) {
			delete(q.joins, inc)
		} else {
			out = append(out, j)
		}
	}
	slices.SortFunc(out, func(a, b join) int { return cmp.Compare(a.member.Incarnation, b.member.Incarnation) })
	return out
}

// replaces reports whether a request to join would replace another incarnation than the
// silent one at the time it was made. Its member repeats the request.
func (j join) replaces(r *roster.Roster) bool {
	other, found := registered(r, j.member.Incarnation.Member())
	return found && other.Incarnation != j.member.Incarnation && other.Incarnation != j.instead
}

// isLeaving reports whether a member has confirmed that it leaves.
func (q *admission) isLeaving(v View, inc roster.Incarnation) bool {
	return inc == q.self.Incarnation && v.Leaving || q.leaves[inc]
}

// leavers returns, sorted, the members that have confirmed that they leave.
func (q *admission) leavers(v View) []roster.Incarnation {
	out := slices.Collect(maps.Keys(q.leaves))
	if self := q.self.Incarnation; v.Leaving && !q.leaves[self] {
		out = append(out, self)
	}
	slices.Sort(out)
	return out
}

// staying returns the servers whose members stay.
func (q *admission) staying(v View) map[ServerID]bool {
	out := map[ServerID]bool{}
	for _, m := range v.Roster.Members {
		if !q.isLeaving(v, m.Incarnation) {
			out[ServerOf(m.Incarnation, m.Durable)] = true
		}
	}
	return out
}

// expects reports whether a server without a member will soon have one: it is joining, or gossip
// sees it alive and it is not silent.
func (q *admission) expects(v View, id ServerID) bool {
	for _, j := range q.joins {
		if j.server() == id {
			return true
		}
	}
	p, seen := v.peerOf(id)
	return seen && !p.Leaving && !q.isLeaving(v, p.Incarnation) && !q.silent(id)
}

// left reports whether a server's member has confirmed that it leaves.
func (q *admission) left(v View, id ServerID) bool {
	return slices.ContainsFunc(q.leavers(v), func(inc roster.Incarnation) bool {
		return ServerOf(inc, true) == id || ServerOf(inc, false) == id
	})
}

// failedMembers returns, sorted, the members that have confirmed that their disk has failed.
func (q *admission) failedMembers() []roster.Incarnation {
	return slices.Sorted(maps.Keys(q.failed))
}

// forgetLeft drops the members that have left: neither the roster nor Raft lists them, and a
// later start joins like any other.
func (q *admission) forgetLeft(has func(roster.Incarnation) bool) {
	for inc := range q.leaves {
		if !has(inc) {
			delete(q.leaves, inc)
			delete(q.failed, inc)
		}
	}
}

// forgetStarts drops a member's earlier starts from the leaving members, because this one joins.
func (q *admission) forgetStarts(joins roster.Incarnation) {
	for inc := range q.leaves {
		if inc != joins && inc.Member() == joins.Member() {
			delete(q.leaves, inc)
			delete(q.failed, inc)
		}
	}
}

// busy reports whether a member joins, leaves or is being probed.
func (q *admission) busy() bool { return len(q.joins)+len(q.leaves)+len(q.inquiries.open) > 0 }
