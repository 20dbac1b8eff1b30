package raftlog

import (
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// requestsLimit bounds an ending node's wait for Raft requests in progress. A leader without a
// majority answers them after leaderTimeout; only a leader with a hanging disk does not.
const requestsLimit = 2 * transport.HeartbeatTimeout

// await starts a Raft request and returns its result. All futures of Raft are awaited here: Raft
// never answers a request that is still in one of its queues when it ends. So none begins after
// the node has begun to end or a write has failed, Raft ends when none is in progress, and a request in progress
// after requestsLimit returns raft.ErrRaftShutdown. A request that Raft has queued when its write fails leaves a
// goroutine behind.
func (n *Node) await(start func() raft.Future) error {
	n.mu.Lock()
	if n.halted || n.isBroken() {
		n.mu.Unlock()
		return raft.ErrRaftShutdown
	}
	n.requests.Add(1)
	gone := n.goneLocked()
	n.mu.Unlock()
	result := make(chan error, 1)
	go func() {
		defer n.requests.Done()
		result <- start().Error()
	}()
	select {
	case err := <-result:
		return err
	case <-gone:
		return raft.ErrRaftShutdown
	}
}

func (n *Node) isBroken() bool {
	select {
	case <-n.broken:
		return true
	default:
		return false
	}
}

// goneLocked returns the channel that is closed when Raft ends. The caller holds n.mu.
func (n *Node) goneLocked() chan struct{} {
	if n.gone == nil {
		n.gone = make(chan struct{})
	}
	return n.gone
}

// halt lets no request of Raft begin any longer, and returns when none is in progress, a write has failed, or
// requestsLimit has passed. Then the remaining ones return.
func (n *Node) halt() {
	n.mu.Lock()
	n.halted = true
	gone := n.goneLocked()
	n.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		n.requests.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-n.broken:
	case <-time.After(requestsLimit):
	}
	close(gone)
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
	if !n.Runs() {
		return refusal.ErrNotLeader
	}
	var applied raft.ApplyFuture
	err = n.await(func() raft.Future {
		applied = n.Raft.Apply(data, transport.RaftCallTimeout)
		return applied
	})
	if err != nil {
		return failure.Errorf(sequencer.ErrUnavailable, "grid: the command is not agreed on: %w", err)
	}
	if err, refused := applied.Response().(error); refused {
		return err
	}
	return nil
}

// Barrier returns nil when this node, as the leader, has applied every entry before the call.
func (n *Node) Barrier() error {
	return n.await(func() raft.Future { return n.Raft.Barrier(transport.RaftCallTimeout) })
}

// Confirm returns nil if this node led after the call: a majority of the voters has confirmed it. A
// replaced leader may be unaware of it.
func (n *Node) Confirm() error {
	if !n.Leads() || n.await(func() raft.Future { return n.Raft.VerifyLeader() }) != nil {
		return refusal.ErrNotLeader
	}
	return nil
}

// PassLead has another server elected, and returns when it is or will not be.
func (n *Node) PassLead(to raft.ServerID) error {
	n.pace.trouble() // the timeout of an election bounds this, too
	return n.await(func() raft.Future { return n.Raft.LeadershipTransferToServer(to, n.Address(to)) })
}

// Reconfigure changes one server of Raft's configuration. raftAddr is the address of a server that
// is added. A server keeps the address that it was configured with: its present one is in the
// addressBook, and Raft reads a server's address while it writes a new one (hashicorp/raft v1.8.0,
// updateLastAppended).
func (n *Node) Reconfigure(do leader.Operation, id raft.ServerID, raftAddr string) error {
	const timeout = transport.RaftCallTimeout
	return n.await(func() raft.Future {
		switch do {
		case leader.AddServer:
			return n.Raft.AddNonvoter(id, transport.RaftAddress(id, raftAddr), 0, timeout)
		case leader.Promote:
			return n.Raft.AddVoter(id, n.Address(id), 0, timeout)
		case leader.Demote:
			return n.Raft.DemoteVoter(id, 0, timeout)
		default:
			return n.Raft.RemoveServer(id, 0, timeout)
		}
	})
}

func (n *Node) snapshot() error {
	return n.await(func() raft.Future { return n.Raft.Snapshot() })
}
