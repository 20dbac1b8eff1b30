package leader

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// When all members of a durable grid are stopped, any majority of the voters' disks has
// to be enough to start it again. So a voter with a disk that leaves keeps its vote for
// a while: the next may be leaving too. It leaves behind a vote like that of a member
// that is down, which is safe.
const (
	// voteKept is how long a voter that left keeps its vote where the voters that stay
	// are a majority without it.
	voteKept = 30 * time.Second
	// voteAwaited is how long a voter that leaves is held back where they are not: if
	// the others stay, votes are taken away then, down to theirs.
	voteAwaited = 10 * time.Second
)

// departures records since when voters with a disk have been leaving.
type departures map[ServerID]time.Duration

// note records which voters leave, and forgets those that do not. It reports whether one
// is new.
func (d departures) note(leaving map[ServerID]bool, now time.Duration) (added bool) {
	for id := range d {
		if !leaving[id] {
			delete(d, id)
		}
	}
	for id := range leaving {
		if _, known := d[id]; !known {
			d[id], added = now, true
		}
	}
	return added
}

// keepsVote reports whether a voter that leaves, or has left, keeps its vote for now;
// majority reports whether the voters that stay are one without those that leave.
func (d departures) keepsVote(id ServerID, majority bool, now time.Duration) bool {
	since, leaves := d[id]
	if majority {
		return leaves && now-since < voteKept
	}
	return leaves && now-since < voteAwaited
}

// departing records which voters with a disk leave. It returns which of them keep their
// votes for now, and whether the voters that stay are a majority.
func (l *Leader) departing(v View, wanted map[ServerID]bool) (keeps func(ServerID) bool, majority bool) {
	voters, stay := 0, 0
	leaving := map[ServerID]bool{}
	for _, s := range v.Servers {
		switch {
		case !s.Voter:
			continue
		case wanted[s.ID]:
			stay++
		case s.ID.IsDurable() && l.left(v, s.ID):
			leaving[s.ID] = true
		}
		voters++
	}
	d := l.voters.departures
	if d.note(leaving, v.Mono) {
		l.detector.wanted = v.Mono
	}
	majority = 2*stay > voters
	return func(id ServerID) bool { return d.keepsVote(id, majority, v.Mono) }, majority
}

// Departed reports whether a member that leaves may end: it is out of the roster, and
// its server is removed, or its vote may stay behind. Until then its vote may be needed
// to agree on the removal.
func (l *Leader) Departed(v View, inc roster.Incarnation, server ServerID) bool {
	_, member := v.Roster.Member(inc)
	return !member && (!v.serves(server) || l.leavesVote(v, server))
}

// leavesVote reports whether a server that left may end although it has a vote: it has a
// disk, and the voters that stay are a majority without it. Each of them has to be seen by
// gossip and to have answered since the server was seen to leave: gossip needs seconds to
// notice that a voter has crashed, and with its vote and this one a majority may be gone.
func (l *Leader) leavesVote(v View, id ServerID) bool {
	since, leaving := l.voters.departures[id]
	if !leaving {
		return false
	}
	voters, stay := 0, 0
	for _, s := range v.Servers {
		if !s.Voter {
			continue
		}
		voters++
		p, seen := v.peerOf(s.ID)
		if seen && s.ID != id && !p.Leaving && !l.leaves(v, p.Incarnation) && l.answeredSince(p.Incarnation, since) {
			stay++
		}
	}
	return 2*stay > voters
}

// answeredSince reports whether a member has answered a probe or a push that began at a time
// or later. The leader itself has.
func (l *Leader) answeredSince(inc roster.Incarnation, since time.Duration) bool {
	c := l.detector.contacts[inc]
	return inc == l.self || c != nil && !c.failing && c.answered >= since
}
