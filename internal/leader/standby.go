package leader

import "github.com/snowgrid/snowgrid/internal/roster"

// Servers that stand by have the log and no vote, and get one when a voter goes. Members without
// a server are learners: they hear of rosters by the leader's pushes, so that the leader of a
// thousand members sends the log to a few. Those that stand by have disks and are of different
// zones where there are such members, since votes go to them.

// ServersMost is how many Raft servers of members that stay there are, voters and those that
// stand by. A member that cannot be a learner has one in any case.
const ServersMost = roster.MaxVoters

// serversMost returns how many servers there should be: enough for every voter.
func (l *Leader) serversMost(v View) int {
	if l.cfg.Servers > 0 {
		return max(l.cfg.Servers, v.Roster.Settings.MostVoters())
	}
	return ServersMost
}

// full reports whether there are as many servers of members that stay, or are about to be
// members, as there should be.
func (l *Leader) full(v View) bool {
	wanted, n := l.wanted(v), 0
	for _, s := range v.Servers {
		if wanted[s.ID] || l.expected(v, s.ID) {
			n++
		}
	}
	return n >= l.serversMost(v)
}

// replacing returns which learners are to stand by in place of another member: one with a disk
// for one without, or one of a zone with two servers fewer. Each such step brings the servers
// closer to the best, so there is an end to them. While there is a server too many no other is added.
func (l *Leader) replacing(v View) func(roster.Member) bool {
	e, found := l.electorate(v)
	goes, spare := l.spareServer(v, e)
	if !found || !spare || e.voting+len(e.idle) > l.serversMost(v) {
		return func(roster.Member) bool { return false }
	}
	servers := e.servers()
	return func(m roster.Member) bool {
		own := rank(Server{ID: ServerOf(m.Incarnation, m.Durable)})
		return own < rank(goes) || own == rank(goes) && servers[e.zone[goes.ID]]-servers[m.Zone] >= 2
	}
}

// servers counts the servers of members that stay, by zone.
func (e electorate) servers() map[string]int {
	out := map[string]int{}
	for _, zone := range e.zone {
		out[zone]++
	}
	return out
}

// spareServer returns the server that stands by and is removed first: one without a disk, in the
// zone with the most servers.
func (l *Leader) spareServer(v View, e electorate) (goes Server, found bool) {
	servers := e.servers()
	for _, s := range e.idle {
		m, _ := v.memberOf(s.ID)
		c := l.detector.contacts[m.Incarnation]
		if c == nil || !c.learns {
			continue
		}
		if !found || rank(s) > rank(goes) || rank(s) == rank(goes) && servers[e.zone[s.ID]] >= servers[e.zone[goes.ID]] {
			goes, found = s, true
		}
	}
	return goes, found
}

// prune removes a server that stands by if there are too many of them: its member
// becomes a learner. None of them votes, so that no agreement depends on it.
func (l *Leader) prune(v View, e electorate) {
	if goes, found := l.spareServer(v, e); found && e.voting+len(e.idle) > l.serversMost(v) {
		l.voters.reconfiguring = true
		l.member.Reconfigure(Reconfiguration{Do: Remove, Server: goes.ID})
	}
}
