package leader

import (
	"slices"
	"strings"

	"github.com/snowgrid/snowgrid/roster"
)

// ServerID is a member's name in Raft.
type ServerID string

// ServerOf returns a member's name in Raft. A durable member keeps it with its log; a
// volatile one is another server at each start, since a server that forgets its log
// would take back votes and acknowledgements that it gave.
func ServerOf(i roster.Incarnation, durable bool) ServerID {
	if durable {
		return ServerID(i.Member())
	}
	return ServerID(i)
}

// IsDurable reports whether a server keeps its log across restarts.
func (id ServerID) IsDurable() bool { return !strings.Contains(string(id), "-") }

// Server is a Raft server. Every member is one, so that it learns the roster by the
// log. Most are learners; a few vote.
type Server struct {
	ID    ServerID
	Voter bool
}

// VotersFor returns how many voters a grid of n members has whose settings want that many
// at most: the largest odd number within both. Of an even number one vote would be of no
// use: four survive the loss of one, like three.
func VotersFor(n, most int) int {
	votes := min(n, most)
	return max(1, votes-(votes+1)%2)
}

// serves reports whether a server is configured.
func (v View) serves(id ServerID) bool {
	return slices.ContainsFunc(v.Servers, func(s Server) bool { return s.ID == id })
}

// memberOf returns the roster's member behind a server.
func (v View) memberOf(id ServerID) (roster.Member, bool) {
	return MemberOf(v.Roster, id)
}

// MemberOf returns the roster's member behind a server.
func MemberOf(r *roster.Roster, id ServerID) (roster.Member, bool) {
	for _, m := range r.Members {
		if ServerOf(m.Incarnation, m.Durable) == id {
			return m, true
		}
	}
	return roster.Member{}, false
}

// peerOf returns the peer behind a server, if gossip sees it.
func (v View) peerOf(id ServerID) (Peer, bool) {
	for _, p := range v.Peers {
		if p.server() == id {
			return p, true
		}
	}
	return Peer{}, false
}

// Operation is a change of one Raft server.
type Operation uint8

// The operations.
const (
	AddLearner Operation = iota + 1
	Promote
	Demote
	Remove
)

// Reconfiguration is a change of Raft's servers, one server at a time.
type Reconfiguration struct {
	Do     Operation
	Server ServerID
	Member roster.Member // whose server it is, for AddLearner
}

// addsPerStep is how many servers are added between two steps: each takes a round of
// agreement, and the ceiling has to rise meanwhile.
const addsPerStep = 16

// addServers adds servers for the members that ask to join, one after the other.
func (l *Leader) addServers(v View) {
	clear(l.voters.tried)
	l.addServer(v)
}

func (l *Leader) addServer(v View) {
	s := &l.voters
	if s.adding || len(s.tried) == addsPerStep {
		return
	}
	for _, j := range l.joining(v) {
		if id := j.server(); !v.serves(id) && !s.tried[id] {
			s.adding, s.tried[id] = true, true
			l.member.Reconfigure(Reconfiguration{Do: AddLearner, Server: id, Member: j.member})
			return
		}
	}
}

// admitted returns the members that ask to join and whose servers are configured: they
// learn of the roster that they are in.
func (l *Leader) admitted(v View) []roster.Member {
	var out []roster.Member
	for _, j := range l.joining(v) {
		if v.serves(j.server()) {
			out = append(out, j.member)
		}
	}
	return out
}

// Reconfigured records the outcome of a reconfiguration. One that failed is decided on
// again at the next step.
func (l *Leader) Reconfigured(v View, c Reconfiguration) {
	if c.Do != AddLearner {
		l.voters.reconfiguring = false
		return
	}
	l.voters.adding = false
	l.addServer(v)
}
