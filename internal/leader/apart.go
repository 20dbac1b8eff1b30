package leader

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/plan"
)

// Owners report members that they do not reach ([Reach]). While the leader itself reaches both, it has
// partitions placed so that no owner waits for a replica that it does not reach. A report counts for as
// long as it is repeated: the owner looks at the connection, and the leader cannot.

// unreachedKept is how long a report counts. It is repeated each second.
const unreachedKept = 3 * time.Second

// unreached is a report of one owner.
type unreached struct {
	members []roster.Incarnation
	at      time.Duration
}

// noteUnreached records the members that an owner does not reach, and reports whether that is news.
func (q *requests) noteUnreached(v View, owner roster.Incarnation, members []roster.Incarnation) (news bool) {
	known := func(i roster.Incarnation) bool { _, member := v.Roster.Member(i); return member }
	if !known(owner) {
		return false
	}
	members = slices.DeleteFunc(slices.Clone(members), func(i roster.Incarnation) bool { return i == owner || !known(i) })
	slices.Sort(members)
	members = slices.Compact(members)
	news = !slices.Equal(q.unreached[owner].members, members)
	if len(members) == 0 {
		delete(q.unreached, owner)
	} else {
		q.unreached[owner] = unreached{members, v.Mono}
	}
	return news
}

// Apart returns the pairs of members that do not reach each other, ascending, of which each answers this
// leader. A pair with a member that does not is left to the failure detector, and so is one with the leader.
func (l *Leader) Apart(v View) []plan.Pair {
	pairs := map[plan.Pair]bool{}
	for owner, u := range l.requests.unreached {
		if v.Mono-u.at > unreachedKept {
			delete(l.requests.unreached, owner)
			continue
		}
		for _, m := range u.members {
			if l.reaches(v, owner) && l.reaches(v, m) {
				pairs[plan.PairOf(owner, m)] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(pairs), func(a, b plan.Pair) int { return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B)) })
}

// reaches reports whether another member answers this leader.
func (l *Leader) reaches(v View, inc roster.Incarnation) bool {
	c := l.detector.contacts[inc]
	_, member := v.Roster.Member(inc)
	if !member || inc == l.self || c == nil || !c.heard {
		return false
	}
	suspect, _ := c.verdict(v, inc)
	return !suspect
}
