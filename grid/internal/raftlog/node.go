package raftlog

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Node is a member's part in the agreement of one grid. The methods that only ask may be
// called on nil, which is the part of a member that knows no grid yet.
type Node struct {
	Raft   *raft.Raft
	Server raft.ServerID

	guarded  *transport.GuardedRaft // nil without other servers
	followed *followed              // nil without a roster
	learned  *learned
	diverged *divergence
	pace     *pace
	heard    atomic.Pointer[raft.ServerID] // the last leader but this server, nil for none

	mu       sync.Mutex     // guards what follows
	ended    bool           // no proposal begins any longer
	halted   bool           // no request of Raft begins any longer
	requests sync.WaitGroup // of Raft, in progress
	gone     chan struct{}  // closed when Raft ends; nil before the first request

	stopping chan struct{} // closed when the end of Raft has begun; nil before Stop. Guarded by mu
	stopped  raft.Future   // of the shutdown of Raft; of use when stopping is closed
}

// Shutdown ends the node. From here on it proposes nothing.
func (n *Node) Shutdown() error {
	n.mu.Lock()
	n.ended = true
	n.mu.Unlock()
	return n.Stop().Error()
}

// Stop begins to end Raft. Raft's own future waits for the end and closes the transport for its
// first caller alone; this one does for every caller.
func (n *Node) Stop() raft.Future {
	n.mu.Lock()
	first := n.stopping == nil
	if first {
		n.stopping = make(chan struct{})
	}
	n.mu.Unlock()
	if first {
		n.halt()
		n.followed.end() // no later ceiling is heard of
		n.stopped = n.Raft.Shutdown()
		if n.guarded != nil {
			_ = n.guarded.Close() // Raft would wait for its calls of servers that are silent
		}
		close(n.stopping)
	}
	<-n.stopping
	return n.stopped
}

// LetRest allows this node, as a leader, to have slow heartbeats at rest, or forbids it.
func (n *Node) LetRest(may bool) { n.pace.allow(may) }

// Runs reports whether the member takes part by this node.
func (n *Node) Runs() bool {
	if n == nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.ended
}

// Leads reports whether this node leads.
func (n *Node) Leads() bool { return n != nil && n.Raft.State() == raft.Leader }

// standLimit bounds the time in which Raft begins an election that it is asked for.
const standLimit = 200 * time.Millisecond

// Stand begins an election in which this node is a candidate, unless another leader than
// the one given is known by now, or this node is not a follower. Whether it is safe to
// elect it the votes alone decide.
func (n *Node) Stand(after leader.ServerID) bool {
	_, id := n.Raft.LeaderWithID()
	now := leader.ServerID(id)
	if n.guarded == nil || now != "" && now != after || n.Raft.State() != raft.Follower {
		return false
	}
	return n.guarded.Stand(n.Server, standLimit)
}

// Leader returns the Raft server ID of the leader, "" while unknown.
func (n *Node) Leader() string {
	if n == nil {
		return ""
	}
	_, id := n.Raft.LeaderWithID()
	if id == "" {
		id, _ = n.learned.touch()
	}
	return string(id)
}

// Learns reports whether this member follows the leader by its pushes alone.
func (n *Node) Learns() bool {
	if n == nil {
		return false
	}
	_, id := n.Raft.LeaderWithID()
	follows, _ := n.learned.touch()
	return id == "" && follows != ""
}

// LastContact returns when this member last heard from the leader.
func (n *Node) LastContact() time.Time {
	last := n.Raft.LastContact()
	if _, heard := n.learned.touch(); heard.After(last) {
		return heard
	}
	return last
}

// Unheard returns for how long Raft has heard nothing from a leader and given no vote, 0 for the leader
// itself and an hour at most.
func (n *Node) Unheard() time.Duration {
	if n.Leads() {
		return 0
	}
	return n.sinceContact()
}

func (n *Node) sinceContact() time.Duration {
	return min(time.Since(n.Raft.LastContact()), time.Hour)
}

// Before returns the last other leader, "" for none, and for how long it has not been heard.
func (n *Node) Before() (id leader.ServerID, unheard time.Duration) {
	if last := n.heard.Load(); last != nil {
		return leader.ServerID(*last), n.sinceContact()
	}
	return "", 0
}

// LeadTerm returns the term in which this node leads, 0 if it does not.
func (n *Node) LeadTerm() uint64 {
	if n == nil {
		return 0
	}
	term := n.Raft.CurrentTerm()
	if !n.Leads() || n.Raft.CurrentTerm() != term { // it steps down before its term grows
		return 0
	}
	return term
}

// Voters returns the servers that vote, as this server's configuration says, or, if a leader
// has pushed since this server last heard from one, as that leader says.
func (n *Node) Voters() (voters []raft.Server) {
	if n == nil {
		return nil
	}
	_, id := n.Raft.LeaderWithID()
	if told := n.learned.votersSince(n.Raft.LastContact()); id == "" && len(told) > 0 {
		return told
	}
	servers, _ := n.Servers()
	for _, s := range servers {
		if s.Suffrage == raft.Voter {
			voters = append(voters, s)
		}
	}
	return voters
}

// Servers returns the configured servers, and false if they cannot be read.
func (n *Node) Servers() ([]raft.Server, bool) {
	future := n.Raft.GetConfiguration() // answered already
	if future.Error() != nil {
		return nil, false
	}
	return future.Configuration().Servers, true
}

// Address returns the address that a server was configured with, "" if it is not.
func (n *Node) Address(id raft.ServerID) raft.ServerAddress {
	servers, _ := n.Servers()
	for _, s := range servers {
		if s.ID == id {
			return s.Address
		}
	}
	return ""
}

// ServerID returns a member's name in Raft: see [leader.ServerOf].
func ServerID(i roster.Incarnation, durable bool) raft.ServerID {
	return raft.ServerID(leader.ServerOf(i, durable))
}
