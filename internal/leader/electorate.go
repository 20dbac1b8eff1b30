package leader

import (
	"slices"
)

// standing is the state of a server, by the member behind it.
type standing uint8

const (
	staying  standing = iota // its member stays
	arriving                 // its member will soon be in the roster
	passing                  // this leader's: it leaves, and passes the lead on
	leaving                  // its member leaves, hands over first, and still needs the roster
	absent                   // a voter without a member, whose disk may come back
	gone                     // a server without a member, which does not come back
)

// classified is a server with its standing.
type classified struct {
	Server
	standing standing
	retained bool // the vote of a member that is absent, leaves or has left, which is kept for now
	overdue  bool // the vote of a member that leaves or has left, which is no longer kept
}

// electorate sorts Raft's servers by their standing.
type electorate struct {
	voters   []Server
	voting   int      // voters that stay
	want     int      // the number of voters that should vote
	absent   int      // votes that are retained
	idle     []Server // staying servers without a vote, durable ones first
	surplus  []Server // staying voters that may lose their vote, durable ones last
	leavers  []Server // voters that leave
	arrivals []Server // they will soon have a member, if they answer
	gone     []Server
	down     []Server // absent voters
	passing  bool     // this leader leaves and has a vote

	zone  map[ServerID]string // of the staying servers
	votes map[string]int      // of the staying voters, by zone
}

// servers is the part of the state that classifies a server.
type servers struct {
	self       ServerID // this leader's
	stays      map[ServerID]bool
	keepsVote  func(ServerID) bool // by departures
	members    membership
	surrenders map[ServerID]bool // votes that an operator gives up
}

func (x servers) classify(v View, s Server) classified {
	c := classified{Server: s, standing: staying}
	if x.stays[s.ID] {
		return c
	}
	_, member := v.memberOf(s.ID)
	keeps, left := s.Voter && x.keepsVote(s.ID), true
	switch {
	case s.ID == x.self:
		c.standing = passing
	case member:
		c.standing = leaving
	case x.members.expects(v, s.ID):
		c.standing = arriving
		return c
	default:
		left = x.members.left(v, s.ID)
		c.standing = gone
		if s.Voter && s.ID.IsDurable() && !x.surrenders[s.ID] && (!left || keeps) {
			c.standing = absent
		}
	}
	c.retained = keeps && c.standing != gone || c.standing == absent
	c.overdue = s.Voter && left && !keeps
	return c
}

// count adds classified servers. It returns whether a voter is overdue.
func (e *electorate) count(self ServerID, all []classified) (overdue bool) {
	for _, s := range all {
		if s.Voter {
			e.voters = append(e.voters, s.Server)
		}
		switch s.standing {
		case staying:
			if !s.Voter {
				e.idle = append(e.idle, s.Server)
				break
			}
			e.voting++
			if s.ID != self {
				e.surplus = append(e.surplus, s.Server)
			}
		case passing:
			e.passing = s.Voter
		case leaving:
			if s.Voter {
				e.leavers = append(e.leavers, s.Server)
			}
		case arriving:
			e.arrivals = append(e.arrivals, s.Server)
		case absent:
			e.down = append(e.down, s.Server)
		case gone:
			e.gone = append(e.gone, s.Server)
		}
		if s.retained {
			e.absent++
		}
		overdue = overdue || s.overdue
	}
	return overdue
}

// rank puts servers with a disk first: they keep their votes over a restart.
func rank(s Server) int {
	if s.ID.IsDurable() {
		return 0
	}
	return 1
}

// servers counts the staying servers by zone.
func (e electorate) servers() map[string]int {
	out := map[string]int{}
	for _, zone := range e.zone {
		out[zone]++
	}
	return out
}

// promotes reports whether a vote may be given.
func (e electorate) promotes() bool { return e.voting < e.want && len(e.idle) > 0 }

// obsolete returns the servers that may be removed. It includes absent voters once enough others
// vote.
func (e electorate) obsolete() []Server {
	if e.absent == 0 || e.voting >= e.want {
		return slices.Concat(e.gone, e.down)
	}
	return e.gone
}

// demotes reports whether a vote may be taken.
func (e electorate) demotes() bool { return e.voting >= e.want && len(e.spare()) > 0 }

// spare returns the voters that may lose their votes.
func (e electorate) spare() []Server {
	if e.voting > e.want {
		return slices.Concat(e.leavers, e.surplus)
	}
	return e.leavers
}

// removable returns a server to remove, a silent one first: a voter that left and still answers
// may be needed to agree on the removal of another. A voter is removed only if the others have a
// majority that answers.
func (e electorate) removable(reached func(Server) bool) (Server, bool) {
	obsolete := e.obsolete()
	if len(obsolete) == 0 {
		return Server{}, false
	}
	s := obsolete[0]
	if i := slices.IndexFunc(obsolete, func(s Server) bool { return !reached(s) }); i >= 0 {
		s = obsolete[i]
	}
	return s, !s.Voter || e.agreesWithout(s, reached)
}

// dispensable returns a superfluous voter, a silent one first. It loses its vote only if the
// others have a majority that answers: otherwise nothing could be agreed on, including this step.
// Its own silence does not matter: it may be the voter that still answers Raft. A staying voter
// that answers keeps its vote until a leaving leader has lost its own, because that leader may end
// at any time.
func (e electorate) dispensable(answers func(Server) bool) (Server, bool) {
	if !e.demotes() {
		return Server{}, false
	}
	spare := e.spare()
	if i := slices.IndexFunc(spare, func(s Server) bool { return !answers(s) }); i >= 0 {
		return spare[i], e.agreesWithout(spare[i], answers)
	}
	if e.passing && len(e.leavers) == 0 {
		return Server{}, false
	}
	return spare[0], e.agreesWithout(spare[0], answers)
}

// agreesWithout reports whether the voters other than one have a majority that answers.
func (e electorate) agreesWithout(gone Server, answers func(Server) bool) bool {
	remain, answering := 0, 0
	for _, s := range e.voters {
		if s.ID != gone.ID {
			remain++
			if answers(s) {
				answering++
			}
		}
	}
	return 2*answering > remain
}
