package leader

import (
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/leader/anchor"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// View is the state of the leading member at the moment of a call to its [Leader]. Every part
// except Servers may be late: peers that are listed may be dead.
type View struct {
	Roster  *roster.Roster   // the newest that it has applied
	Mono    time.Duration    // its monotonic clock
	Wall    clustertime.Tick // its wall clock
	Raised  Raise            // the last raise that it has applied; the zero value for none
	Servers []Server         // Raft's latest configuration, committed or not
	Peers   []Peer           // members that gossip sees alive, with or without this one; not modified
	Leaving bool             // this member leaves the grid
	Draw    anchor.Draw      // random values, new in each view; only used with an anchor
}

// Raise is a raise of the ceiling as a member applied it.
type Raise struct {
	Time clustertime.Tick // its cluster time
	At   time.Duration    // the member's monotonic clock then
}

// Peer is a member that gossip sees alive.
type Peer struct {
	Incarnation roster.Incarnation
	API         string
	Durable     bool
	Leaving     bool // it states that it leaves
}

// serves reports whether a server is configured.
func (v View) serves(id ServerID) bool {
	return slices.ContainsFunc(v.Servers, func(s Server) bool { return s.ID == id })
}

func (v View) memberOf(id ServerID) (roster.Member, bool) {
	return MemberOf(v.Roster, id)
}

// MemberOf returns the roster's member behind a server.
func MemberOf(r *roster.Roster, id ServerID) (roster.Member, bool) {
	return first(r.Members, func(m roster.Member) bool { return ServerOf(m.Incarnation, m.Durable) == id })
}

func first[T any](all []T, accepts func(T) bool) (found T, is bool) {
	if i := slices.IndexFunc(all, accepts); i >= 0 {
		return all[i], true
	}
	return found, false
}

// serverOf returns the Raft server of a member, whether it runs or not.
func (v View) serverOf(id roster.MemberID) (Server, bool) {
	m, found := registered(v.Roster, id)
	return first(v.Servers, func(s Server) bool {
		return found && s.ID == ServerOf(m.Incarnation, m.Durable) ||
			!found && roster.Incarnation(s.ID).Member() == id
	})
}

// registered returns the roster's record of a member ID, whatever its incarnation.
func registered(r *roster.Roster, id roster.MemberID) (roster.Member, bool) {
	return first(r.Members, func(m roster.Member) bool { return m.Incarnation.Member() == id })
}

// has reports whether an incarnation is a member, or has a Raft server.
func (v View) has(inc roster.Incarnation) bool {
	_, member := v.Roster.Member(inc)
	return member || v.serves(ServerOf(inc, true)) || v.serves(ServerOf(inc, false))
}

// peerOf returns the peer behind a server, if gossip sees it. Of two processes with one member's data
// Raft sends to the one in the roster, if gossip sees that, and so peerOf returns it.
func (v View) peerOf(id ServerID) (peer Peer, found bool) {
	for _, p := range v.Peers {
		if ServerOf(p.Incarnation, p.Durable) != id {
			continue
		}
		if _, member := v.Roster.Member(p.Incarnation); member {
			return p, true
		}
		if !found {
			peer, found = p, true
		}
	}
	return peer, found
}

// sees reports whether gossip sees an incarnation alive.
func (v View) sees(inc roster.Incarnation) bool {
	return slices.ContainsFunc(v.Peers, func(p Peer) bool { return p.Incarnation == inc })
}

// live returns the incarnations that gossip sees alive, to look up many members.
func (v View) live() map[roster.Incarnation]bool {
	out := make(map[roster.Incarnation]bool, len(v.Peers))
	for _, p := range v.Peers {
		out[p.Incarnation] = true
	}
	return out
}
