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

// Node is a member's part in one grid's consensus. The read-only methods accept a nil receiver: a
// member without a grid.
type Node struct {
	Raft   *raft.Raft
	Server raft.ServerID

	guarded  *transport.GuardedRaft // nil without other servers
	followed *followed              // nil without a roster
	learned  *learned
	diverged *divergence
	pace     *pace
	disk     *Log                          // nil without a data directory
	heard    atomic.Pointer[raft.ServerID] // the last leader but this server, nil for none
	// broken is closed when a write has failed: Raft answers nothing any longer. It is nil without a disk.
	broken <-chan struct{}

	mu       sync.Mutex     // guards the fields below
	ended    bool           // no proposal begins any longer
	halted   bool           // no Raft request begins any longer
	requests sync.WaitGroup // of Raft, in progress
	gone     chan struct{}  // closed when Raft ends; nil before the first request

	stopping chan struct{} // closed when the end of Raft has begun; nil before Stop. Guarded by mu
	stopped  raft.Future   // result of Raft's shutdown; valid once stopping is closed
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
		n.followed.end() // no later ceiling arrives
		n.stopped = n.Raft.Shutdown()
		if n.guarded != nil {
			_ = n.guarded.Close() // Raft would wait for its calls of servers that are silent
		}
		close(n.stopping)
	}
	<-n.stopping
	return n.stopped
}

// Runs reports whether the member takes part by this node.
func (n *Node) Runs() bool {
	if n == nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.ended
}

// Leads reports whether this node leads. A leader whose disk hangs does not: see [Log.Hang].
func (n *Node) Leads() bool { return n.Elected() && n.disk.Hang() == nil }

// Elected reports whether Raft's last election made this node the leader, as far as it has received.
func (n *Node) Elected() bool { return n != nil && n.Raft.State() == raft.Leader }

// standLimit bounds the time for Raft to start a requested election.
const standLimit = 200 * time.Millisecond

// Stand starts an election with this node as a candidate, unless it has a leader other than after, or
// is not a follower. Safety depends on the votes alone.
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
	if n == nil || n.Raft == nil {
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

// LastContact returns the time of the leader's last message.
func (n *Node) LastContact() time.Time {
	last := n.Raft.LastContact()
	if _, heard := n.learned.touch(); heard.After(last) {
		return heard
	}
	return last
}

// Unheard returns the time since Raft's last contact with a leader or last vote, 0 for the leader
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

// Before returns the last other leader, "" for none, and the time since its last message.
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

// Voters returns the voting servers in this server's configuration, or in the leader's if a leader's
// push is newer than the last Raft contact.
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

// ServersOf converts servers for the leader's machine.
func ServersOf(servers []raft.Server) []leader.Server {
	var out []leader.Server
	for _, s := range servers {
		out = append(out, leader.Server{ID: leader.ServerID(s.ID), Voter: s.Suffrage == raft.Voter})
	}
	return out
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
