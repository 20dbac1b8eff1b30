package leader

import (
	"maps"
	"time"
)

// When all members of a durable grid are stopped, any majority of the voters' disks has
// to be enough to start it again. A leaving voter with a disk therefore keeps its vote for
// a while, because the next voter may leave too. The vote that it leaves behind is like the
// vote of a member that is down, which is safe.
const (
	// voteKept is the time during which a voter that left keeps its vote, if the staying voters are a
	// majority without it.
	voteKept = 30 * time.Second
	// voteAwaited is the time during which a leaving voter is held back, if they are not. If the others
	// stay, votes are then taken away, down to theirs.
	voteAwaited = 10 * time.Second
)

// departures records since when voters with a disk have been leaving.
type departures map[ServerID]time.Duration

// note records the leaving voters and drops the others. It reports whether one is new.
func (d departures) note(leaving map[ServerID]bool, now time.Duration) (added bool) {
	maps.DeleteFunc(d, func(id ServerID, _ time.Duration) bool { return !leaving[id] })
	for id := range leaving {
		if _, known := d[id]; !known {
			d[id], added = now, true
		}
	}
	return added
}

// keepsVote reports whether a voter that leaves, or has left, keeps its vote for now;
// majority reports whether the staying voters are a majority without the leaving ones.
func (d departures) keepsVote(id ServerID, majority bool, now time.Duration) bool {
	since, leaves := d[id]
	if majority {
		return leaves && now-since < voteKept
	}
	return leaves && now-since < voteAwaited
}

// departing records the leaving voters with a disk. It returns whether a voter keeps its vote
// for now, and whether the staying voters are a majority.
func (m *voters) departing(v View, stays map[ServerID]bool) (keeps func(ServerID) bool, majority bool) {
	voters, stay := 0, 0
	leaving := map[ServerID]bool{}
	for _, s := range v.Servers {
		switch {
		case !s.Voter:
			continue
		case stays[s.ID]:
			if _, seen := v.peerOf(s.ID); seen || s.ID == m.server { // as leavesVote counts
				stay++
			}
		case s.ID.IsDurable() && m.members.left(v, s.ID):
			leaving[s.ID] = true
		}
		voters++
	}
	d := m.departures
	if d.note(leaving, v.Mono) {
		m.live.refresh(v.Mono)
	}
	majority = 2*stay > voters
	return func(id ServerID) bool { return d.keepsVote(id, majority, v.Mono) }, majority
}

// leavesVote reports whether a server that left may end although it has a vote: it has a
// disk, and the staying voters are a majority without it. Gossip has to see each of them, and
// each has to have answered since the leader saw that the server leaves: gossip needs seconds to
// detect a crashed voter, and with its vote and this one a majority may be gone.
func (m *voters) leavesVote(v View, id ServerID) bool {
	since, leaving := m.departures[id]
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
		if seen && s.ID != id && !p.Leaving && !m.members.isLeaving(v, p.Incarnation) &&
			m.live.answeredSince(p.Incarnation, since) {
			stay++
		}
	}
	return 2*stay > voters
}
