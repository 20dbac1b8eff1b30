package grid

import (
	"time"

	"github.com/hashicorp/raft"
	"github.com/snowgrid/snowgrid/grid/internal/gossip"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
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
	// stopAwaited is how long a voter that leaves with all others waits for the leader
	// to note the stop.
	stopAwaited = 5 * time.Second
)

// departures remembers since when voters with a disk have been leaving.
type departures map[raft.ServerID]time.Duration

// note records which voters leave, and forgets those that do not.
func (d departures) note(leaving map[raft.ServerID]bool, now time.Duration) {
	for id := range d {
		if !leaving[id] {
			delete(d, id)
		}
	}
	for id := range leaving {
		if _, known := d[id]; !known {
			d[id] = now
		}
	}
}

// keepsVote reports whether a voter that leaves, or has left, keeps its vote for now;
// majority says that the voters that stay are one without those that leave.
func (d departures) keepsVote(id raft.ServerID, majority bool, now time.Duration) bool {
	since, leaves := d[id]
	if majority {
		return leaves && now-since < voteKept
	}
	return leaves && now-since < voteAwaited
}

// mayEnd reports whether a server that left may end although it has a vote: the voters
// that stay and are alive are a majority without it.
func (m *Member) mayEnd(node *raftlog.Node, id raft.ServerID) bool {
	future := node.Raft.GetConfiguration()
	if !raftlog.IsDurable(id) || future.Error() != nil {
		return false
	}
	staying := map[raft.ServerID]bool{}
	for _, p := range m.gossip.Peers() {
		staying[raftlog.ServerID(p.Incarnation, p.Durable)] = !p.Leaving && !m.leaving(p.Incarnation)
	}
	voters, stay := 0, 0
	for _, s := range future.Configuration().Servers {
		if s.Suffrage == raft.Voter {
			voters++
			if s.ID != id && staying[s.ID] {
				stay++
			}
		}
	}
	return 2*stay > voters
}

// awaitStop waits, when all members leave, for the leader to note the stop: this
// member's vote may be needed for it.
func (m *Member) awaitStop(done <-chan struct{}) {
	limit := time.After(stopAwaited)
	for {
		node := m.raft.Node()
		if m.cfg.DataDir == "" || node == nil || node.Leads() || m.state.Roster().Stopped > 0 {
			return
		}
		leads := func(p gossip.Peer) bool { return string(raftlog.ServerID(p.Incarnation, p.Durable)) == node.Leader() }
		if _, alive := m.gossip.Find(leads); !alive {
			return
		}
		select {
		case <-time.After(leaveEvery):
		case <-limit:
			return
		case <-done:
			return
		}
	}
}
