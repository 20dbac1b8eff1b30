package leader

import (
	"cmp"
	"slices"
)

// electorate sorts Raft's servers. It returns false while the voters are left alone:
// when every member leaves, and while this one is not in the roster, which then names
// earlier starts of it and of others, and those do not answer.
func (l *Leader) electorate(v View) (e electorate, found bool) {
	wanted := l.wanted(v)
	if _, in := v.Roster.Member(l.self); !in && !v.Leaving || len(wanted) == 0 {
		return e, false
	}
	keeps, majority := l.departing(v, wanted)
	held := false // a voter has waited for long enough to leave, and would take the majority with it
	for _, s := range v.Servers {
		_, member := v.memberOf(s.ID)
		self, stays := s.ID == l.server, wanted[s.ID]
		if s.Voter {
			e.voters = append(e.voters, s)
		}
		switch {
		case !stays && self: // it passes the lead on
			e.passing = s.Voter
			held = held || s.Voter && !keeps(s.ID)
			if s.Voter && keeps(s.ID) {
				e.absent++
			}
		case !stays && member: // it hands over first, and has to hear of the roster
			if s.Voter {
				e.leavers = append(e.leavers, s)
				held = held || !keeps(s.ID)
			}
			if s.Voter && keeps(s.ID) {
				e.absent++
			}
		case !stays && !l.expected(v, s.ID):
			held = held || s.Voter && l.left(v, s.ID) && !keeps(s.ID)
			if s.Voter && s.ID.IsDurable() && !l.voters.givenUp[s.ID] && (!l.left(v, s.ID) || keeps(s.ID)) {
				e.absent++
				e.down = append(e.down, s)
			} else {
				e.gone = append(e.gone, s)
			}
		case stays && s.Voter:
			e.voting++
			if !self {
				e.surplus = append(e.surplus, s)
			}
		case stays:
			e.idle = append(e.idle, s)
		}
	}
	if held && !majority { // it could not leave before the absent come back: their votes are given up
		e.absent = 0
	}
	e.want = VotersFor(len(wanted)+e.absent, v.Roster.Settings.MostVoters())
	e.countZones(v, wanted)
	slices.SortStableFunc(e.idle, func(a, b Server) int { return cmp.Or(rank(a)-rank(b), e.crowd(a)-e.crowd(b)) })
	slices.SortStableFunc(e.surplus, func(a, b Server) int { return cmp.Or(rank(b)-rank(a), e.crowd(b)-e.crowd(a)) })
	return e, true
}

// rank puts servers with a disk, which keep their word over a restart, first.
func rank(s Server) int {
	if s.ID.IsDurable() {
		return 0
	}
	return 1
}

// wanted returns the servers of the roster's members that do not leave.
func (l *Leader) wanted(v View) map[ServerID]bool {
	out := map[ServerID]bool{}
	for _, m := range v.Roster.Members {
		if !l.leaves(v, m.Incarnation) {
			out[ServerOf(m.Incarnation, m.Durable)] = true
		}
	}
	return out
}

// expected reports whether a server of no member is about to become a member's: it asks
// to join, or gossip sees it alive.
func (l *Leader) expected(v View, id ServerID) bool {
	for _, j := range l.requests.joins {
		if j.server() == id {
			return true
		}
	}
	p, seen := v.peerOf(id)
	return seen && !p.Leaving && !l.leaves(v, p.Incarnation)
}

// left reports whether a server's member has said that it leaves.
func (l *Leader) left(v View, id ServerID) bool {
	for _, inc := range l.leavers(v) {
		if ServerOf(inc, true) == id || ServerOf(inc, false) == id {
			return true
		}
	}
	return false
}
