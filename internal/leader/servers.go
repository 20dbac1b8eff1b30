package leader

import (
	"slices"
	"strings"

	"github.com/snowgrid/snowgrid/internal/roster"
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

// Server is a Raft server. A few members have one that votes. Some more stand by, and all others
// are learners: see standby.go.
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
	AddServer Operation = iota + 1
	Promote
	Demote
	Remove
)

// Reconfiguration is a change of Raft's servers, one server at a time.
type Reconfiguration struct {
	Do     Operation
	Server ServerID
	Member roster.Member // whose server it is, for AddServer
}

// addsPerStep is how many servers are added between two steps: each takes a round of
// agreement, and the ceiling has to rise meanwhile.
const addsPerStep = 16

// addServers adds servers one after the other: for members that ask to join, and for
// learners, up to ServersMost; and for members that cannot be learners.
func (l *Leader) addServers(v View) {
	clear(l.voters.tried)
	l.addServer(v)
}

func (l *Leader) addServer(v View) {
	s := &l.voters
	if s.adding || len(s.tried) == addsPerStep {
		return
	}
	full := l.full(v)
	add := func(m roster.Member, needed bool) bool {
		id := ServerOf(m.Incarnation, m.Durable)
		if !needed || v.serves(id) || s.tried[id] {
			return false
		}
		s.adding, s.tried[id] = true, true
		l.member.Reconfigure(Reconfiguration{Do: AddServer, Server: id, Member: m})
		return true
	}
	for _, j := range l.joining(v) {
		if add(j.member, !full || !j.learns) {
			return
		}
	}
	replaces := l.replacing(v)
	for _, m := range v.Roster.Members {
		c := l.detector.contacts[m.Incarnation]
		if c != nil && c.said && !c.failing && !l.leaves(v, m.Incarnation) && add(m, !full || !c.learns || replaces(m)) {
			return
		}
	}
}

// admitted returns the members that ask to join and that hear of the roster that they
// are in then: their servers are configured, or they are learners.
func (l *Leader) admitted(v View) []roster.Member {
	var out []roster.Member
	full := l.full(v)
	for _, j := range l.joining(v) {
		if v.serves(j.server()) || j.learns && full {
			out = append(out, j.member)
		}
	}
	return out
}

// Reconfigured records the outcome of a reconfiguration. One that failed is decided on
// again at the next step.
func (l *Leader) Reconfigured(v View, c Reconfiguration) {
	if c.Do != AddServer {
		l.voters.reconfiguring = false
		return
	}
	l.voters.adding = false
	l.addServer(v)
}
