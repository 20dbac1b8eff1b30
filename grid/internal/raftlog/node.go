package raftlog

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/leader"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/sequencer"
	"github.com/snowgrid/snowgrid/wire"
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

	mu        sync.Mutex
	ended     bool           // no proposal begins any longer; guarded by mu
	proposals sync.WaitGroup // that are being agreed on
	halted    bool           // the lead is passed on no longer; guarded by mu
	passing   sync.WaitGroup // calls that pass the lead on

	stopping sync.Once
	stopped  raft.Future // of the shutdown of Raft; set by stopping
}

// Propose has a command agreed on. Only the leader can.
func (n *Node) Propose(c roster.Command) error {
	data, err := wire.EncodeCommand(c)
	if err == nil {
		_, err = wire.DecodeCommand(data) // a command that no member can read ends them all
	}
	if err != nil {
		return err
	}
	if !n.begin() {
		return refusal.ErrNotLeader
	}
	defer n.proposals.Done()
	future := n.Raft.Apply(data, transport.RaftCallTimeout)
	if err := future.Error(); err != nil {
		return failure.Errorf(sequencer.ErrUnavailable, "grid: the command is not agreed on: %w", err)
	}
	if err, refused := future.Response().(error); refused {
		return err
	}
	return nil
}

// begin counts one more proposal, unless the node has ended.
func (n *Node) begin() bool {
	if n == nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.ended {
		n.proposals.Add(1)
	}
	return !n.ended
}

// Shutdown ends the node when no proposal is being agreed on: Raft leaves one without an
// answer that it has committed and not applied. Each is over soon, since a leader
// without a majority steps down.
func (n *Node) Shutdown() error {
	n.mu.Lock()
	n.ended = true
	n.mu.Unlock()
	n.proposals.Wait()
	return n.Stop().Error()
}

// Stop begins to end Raft, whatever is being agreed on. Raft's own future waits for the
// end and closes the transport for its first caller alone; this one does for every caller.
func (n *Node) Stop() raft.Future {
	n.stopping.Do(func() {
		n.awaitPassing()
		n.followed.end() // no later ceiling is heard of
		n.stopped = n.Raft.Shutdown()
	})
	return n.stopped
}

// passLimit bounds the wait for a lead that is passed on. Raft gives up after one election
// timeout.
const passLimit = 2 * transport.HeartbeatTimeout

// awaitPassing lets nothing pass the lead on any longer, and waits until nothing does: Raft
// gives no answer to a request that is still in its queue when it ends.
func (n *Node) awaitPassing() {
	n.mu.Lock()
	n.halted = true
	n.mu.Unlock()
	passed := make(chan struct{})
	go func() {
		n.passing.Wait()
		close(passed)
	}()
	timer := time.NewTimer(passLimit)
	defer timer.Stop()
	select {
	case <-passed:
	case <-timer.C:
	}
}

// LetRest allows this node, as a leader, to have slow heartbeats at rest, or forbids it.
func (n *Node) LetRest(may bool) { n.pace.allow(may) }

// PassLead has another server elected, and returns when it is or will not be.
func (n *Node) PassLead(to raft.ServerID) error {
	n.mu.Lock()
	if n.halted {
		n.mu.Unlock()
		return refusal.ErrNotLeader
	}
	n.passing.Add(1)
	n.mu.Unlock()
	defer n.passing.Done()
	n.pace.trouble() // the timeout of an election bounds this, too
	return n.Raft.LeadershipTransferToServer(to, n.Address(to)).Error()
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

// Confirm returns nil if this node led after it was called: a majority of the voters has
// confirmed it. A leader that was replaced may not know yet.
func (n *Node) Confirm() error {
	if !n.Leads() || n.Raft.VerifyLeader().Error() != nil {
		return refusal.ErrNotLeader
	}
	return nil
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
	future := n.Raft.GetConfiguration()
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
