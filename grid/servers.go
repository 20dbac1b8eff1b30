package grid

import (
	"context"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/gossip"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/roster"
)

// Every member is a Raft server, so that every member learns the roster by the
// log. Most only listen; a few vote: one of one or two members, three of three or
// more. That is enough to lose one, and each more would slow every step.

// votersFor returns how many voters a grid of n members has.
func votersFor(n int) int {
	if n < 3 {
		return 1
	}
	return 3
}

// configured returns Raft's servers.
func (l *leader) configured() []raft.Server {
	future := l.node.Raft.GetConfiguration()
	if future.Error() != nil {
		return nil
	}
	return future.Configuration().Servers
}

// serversAtOnce is how many servers one step adds: each takes a round of agreement.
const serversAtOnce = 16

// admitted makes servers of the members that ask to join, and returns those that
// are.
func (l *leader) admitted() []roster.Member {
	var out []roster.Member
	added := 0
	for _, j := range l.joining() {
		if !l.serves(j.server) {
			if added == serversAtOnce {
				continue // the ceiling has to rise meanwhile
			}
			added++
			address := transport.RaftAddress(j.server, j.member.Raft)
			if err := l.node.Raft.AddNonvoter(j.server, address, 0, transport.RaftCallTimeout).Error(); err != nil {
				l.report("add a server", err)
				continue
			}
		}
		out = append(out, j.member)
	}
	return out
}

// joining returns the requests to join that are not too old, forgetting the
// others and those of members.
func (l *leader) joining() []joining {
	m, r := l.m, l.m.state.Roster()
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []joining
	for inc, j := range m.joins {
		_, in := r.Member(inc)
		switch {
		case m.clock.Mono()-j.at > joinLives, m.leaves[inc], in && l.serves(j.server), j.replaces(r):
			delete(m.joins, inc)
		default:
			out = append(out, j)
		}
	}
	return out
}

// serves reports whether a server is configured. It keeps the address that it was
// configured with: where it is now the addressBook knows, and Raft reads a server's
// address while it writes a new one (hashicorp/raft v1.8.0, updateLastAppended).
func (l *leader) serves(id raft.ServerID) bool {
	return slices.ContainsFunc(l.configured(), func(s raft.Server) bool { return s.ID == id })
}

// electorate is what Raft's servers are to the members.
type electorate struct {
	voters          []raft.Server
	voting          int           // voters that stay
	want            int           // how many should
	absent          int           // voters with a disk that are dead
	idle            []raft.Server // that stay and have no vote, durable ones first
	surplus         []raft.Server // that stay and may lose their vote, durable ones last
	leavers, remove []raft.Server
	passing         bool // this leader leaves and has a vote
}

// servers makes one step towards the right voters: a new one before an old one
// goes, the dead before the surplus. A dead voter that has a disk may come back
// with all that it agreed to, so it stays until another takes its place.
func (l *leader) servers() {
	if _, in := l.m.state.Roster().Member(l.m.self); !in && !l.m.leaving(l.m.self) {
		return // it has just started, and so have others: the roster still names their last starts, which do not answer
	}
	wanted := l.wanted()
	if len(wanted) == 0 {
		return // everybody leaves
	}
	e := l.electorate(wanted)
	if e.voting < e.want {
		if i := slices.IndexFunc(e.idle, l.answers); i >= 0 {
			s := e.idle[i]
			l.report("promote a voter", l.node.Raft.AddVoter(s.ID, s.Address, 0, transport.RaftCallTimeout).Error())
			return
		}
	}
	if s, found := l.removable(e); found {
		l.report("remove a server", l.node.Raft.RemoveServer(s.ID, 0, transport.RaftCallTimeout).Error())
		return
	}
	if s, found := l.dispensable(e); found {
		l.report("demote a voter", l.node.Raft.DemoteVoter(s.ID, 0, transport.RaftCallTimeout).Error())
	}
}

func (l *leader) electorate(wanted map[raft.ServerID]bool) (e electorate) {
	keeps := l.departing(wanted)
	for _, s := range l.configured() {
		_, member := l.memberOf(s.ID)
		self, stays, votes := s.ID == l.node.Server, wanted[s.ID], s.Suffrage == raft.Voter
		if votes {
			e.voters = append(e.voters, s)
		}
		switch {
		case !stays && self: // it passes the lead on
			e.passing = votes
			if votes && keeps(s.ID) {
				e.absent++
			}
		case !stays && member: // it hands over first, and has to hear of the roster
			if votes {
				e.leavers = append(e.leavers, s)
			}
			if votes && keeps(s.ID) {
				e.absent++
			}
		case !stays && !l.expected(s.ID):
			e.remove = append(e.remove, s)
			if votes && raftlog.IsDurable(s.ID) && (!l.left(s.ID) || keeps(s.ID)) {
				e.absent++
			}
		case stays && votes:
			e.voting++
			if !self {
				e.surplus = append(e.surplus, s)
			}
		case stays:
			e.idle = append(e.idle, s)
		}
	}
	e.want = votersFor(len(wanted) + e.absent)
	slices.SortStableFunc(e.idle, func(a, b raft.Server) int { return rank(a) - rank(b) })
	slices.SortStableFunc(e.surplus, func(a, b raft.Server) int { return rank(b) - rank(a) })
	return e
}

// departing notes which voters with a disk leave, and returns which of them keep their
// vote for now.
func (l *leader) departing(wanted map[raft.ServerID]bool) (keeps func(raft.ServerID) bool) {
	voters, stay := 0, 0
	leaving := map[raft.ServerID]bool{}
	for _, s := range l.configured() {
		switch {
		case s.Suffrage != raft.Voter:
			continue
		case wanted[s.ID]:
			stay++
		case raftlog.IsDurable(s.ID) && l.left(s.ID):
			leaving[s.ID] = true
		}
		voters++
	}
	now := l.m.clock.Mono()
	l.departures.note(leaving, now)
	return func(id raft.ServerID) bool { return l.departures.keepsVote(id, 2*stay > voters, now) }
}

// rank puts servers with a disk, which keep their word over a restart, first.
func rank(s raft.Server) int {
	if raftlog.IsDurable(s.ID) {
		return 0
	}
	return 1
}

// removable returns a server to remove, one that does not answer first: a voter that
// left and still answers may be needed to agree on the removal of another. A voter goes
// only if those that remain have a majority that answers.
func (l *leader) removable(e electorate) (raft.Server, bool) {
	if len(e.remove) == 0 || e.absent > 0 && e.voting < e.want {
		return raft.Server{}, false
	}
	s := e.remove[0]
	if i := slices.IndexFunc(e.remove, func(s raft.Server) bool { return !l.reaches(s) }); i >= 0 {
		s = e.remove[i]
	}
	if s.Suffrage != raft.Voter {
		return s, true
	}
	remain, answer := 0, 0
	for _, v := range e.voters {
		if v.ID != s.ID {
			remain++
			if v.ID == l.node.Server || l.reaches(v) {
				answer++
			}
		}
	}
	return s, 2*answer > remain
}

// reaches reports whether a server that gossip sees answers, member or not.
func (l *leader) reaches(s raft.Server) bool {
	p, found := l.m.gossip.Find(func(p gossip.Peer) bool { return raftlog.ServerID(p.Incarnation, p.Durable) == s.ID })
	return found && l.m.answers(l.m.ctx, p)
}

// dispensable returns a voter that is one too many. A silent one goes first, and
// one that answers only if those that remain have a majority that does: else
// nothing could be agreed any more, not even this step. One that stays and answers keeps
// its vote until a leader that leaves has lost its own, since that one may end at any time.
func (l *leader) dispensable(e electorate) (raft.Server, bool) {
	if e.voting < e.want {
		return raft.Server{}, false
	}
	spare := e.leavers
	if e.voting > e.want {
		spare = slices.Concat(e.leavers, e.surplus)
	}
	if len(spare) == 0 {
		return raft.Server{}, false
	}
	if i := slices.IndexFunc(spare, func(s raft.Server) bool { return !l.answers(s) }); i >= 0 {
		return spare[i], true
	}
	if e.passing && len(e.leavers) == 0 {
		return raft.Server{}, false
	}
	remain, answer := 0, 0
	for _, s := range e.voters {
		if s.ID != spare[0].ID {
			remain++
			if s.ID == l.node.Server || l.answers(s) {
				answer++
			}
		}
	}
	return spare[0], 2*answer > remain
}

// answers reports whether a server's member answers. A dead one that was given a
// vote, because nobody had noticed yet that it died together with a voter, would
// count against the majority and cost it.
func (l *leader) answers(s raft.Server) bool {
	member, found := l.memberOf(s.ID)
	if !found || l.witness.doubts(member.Incarnation) {
		return false
	}
	ctx, cancel := context.WithTimeout(l.m.ctx, callTimeout)
	defer cancel()
	_, err := l.m.hello(ctx, member.API, member.Incarnation)
	return err == nil
}

// left reports whether a server's member said goodbye.
func (l *leader) left(id raft.ServerID) bool {
	m := l.m
	m.mu.Lock()
	defer m.mu.Unlock()
	for inc := range m.leaves {
		if raftlog.ServerID(inc, true) == id || raftlog.ServerID(inc, false) == id {
			return true
		}
	}
	return false
}

// wanted returns the servers of the roster's members that do not leave.
func (l *leader) wanted() map[raft.ServerID]bool {
	m := l.m
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[raft.ServerID]bool{}
	for _, member := range m.state.Roster().Members {
		if !m.leaves[member.Incarnation] {
			out[raftlog.ServerID(member.Incarnation, member.Durable)] = true
		}
	}
	return out
}

// expected reports whether a server that is no member is about to become one:
// it asks to join, or gossip sees it alive.
func (l *leader) expected(id raft.ServerID) bool {
	m := l.m
	m.mu.Lock()
	for _, j := range m.joins {
		if j.server == id {
			m.mu.Unlock()
			return true
		}
	}
	m.mu.Unlock()
	p, alive := m.gossip.Find(func(p gossip.Peer) bool { return raftlog.ServerID(p.Incarnation, p.Durable) == id })
	m.mu.Lock()
	defer m.mu.Unlock()
	return alive && !p.Leaving && !m.leaves[p.Incarnation]
}
