package leader

import "github.com/snowgrid/snowgrid/internal/roster"

// Standby servers have the log and no vote, and are promoted when a voter goes. Members without
// a server are learners: the leader pushes rosters to them, so that the leader of a thousand
// members sends the log to a few. Standby servers have disks and are in different zones if there
// are such members, because votes go to them.

// ServersMost is the number of Raft servers of staying members, voters and standby servers.
const ServersMost = roster.MaxVoters

// serversMost returns how many servers there should be: enough for every voter.
func (m *voters) serversMost(v View) int {
	if m.most > 0 {
		return max(m.most, v.Roster.Settings.MostVoters())
	}
	return ServersMost
}

// full reports whether there are as many servers of staying members, or of members that will soon
// be in the roster, as there should be.
func (m *voters) full(v View) bool {
	stays, n := m.members.staying(v), 0
	for _, s := range v.Servers {
		if stays[s.ID] || m.members.expects(v, s.ID) {
			n++
		}
	}
	return n >= m.serversMost(v)
}

// replacing returns a function that reports whether a learner should replace another member's
// standby server: a member with a disk replaces one without, and a member of a zone with two
// servers fewer replaces any. Each such step brings the servers closer to the best distribution,
// so the steps end. While there is a server too many, no other is added.
func (m *voters) replacing(v View) func(roster.Member) bool {
	e, found := m.electorate(v)
	goes, spare := spareServer(e)
	if !found || !spare || e.voting+len(e.idle) > m.serversMost(v) {
		return func(roster.Member) bool { return false }
	}
	servers := e.servers()
	return func(m roster.Member) bool {
		own := rank(Server{ID: ServerOf(m.Incarnation, m.Durable)})
		return own < rank(goes) || own == rank(goes) && servers[e.zone[goes.ID]]-servers[m.Zone] >= 2
	}
}

// spareServer returns the standby server to remove first: one without a disk, in the zone with
// the most servers.
func spareServer(e electorate) (goes Server, found bool) {
	servers := e.servers()
	for _, s := range e.idle {
		if !found || rank(s) > rank(goes) || rank(s) == rank(goes) && servers[e.zone[s.ID]] >= servers[e.zone[goes.ID]] {
			goes, found = s, true
		}
	}
	return goes, found
}
