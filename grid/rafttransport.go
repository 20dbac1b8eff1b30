package grid

import (
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/partition"
)

// guardedTransport is Raft's transport with a guard in front of it: what raftView does
// not admit is answered with an error and never reaches Raft, and an answer with a term
// that is not believed counts as none.
type guardedTransport struct {
	*raft.NetworkTransport
	refused func(error)                     // told of each request and answer that is not believed
	view    atomic.Pointer[func() raftView] // nil until Raft runs
	// followed is the last server whose entries or snapshot went to Raft.
	followed atomic.Pointer[raft.ServerID]

	requests chan raft.RPC
	end      chan struct{}
	once     sync.Once
}

var (
	_ raft.Transport   = (*guardedTransport)(nil)
	_ raft.WithPreVote = (*guardedTransport)(nil)
	_ raft.WithClose   = (*guardedTransport)(nil)
)

// guard puts a guard in front of a transport. It ends with Close.
func guard(inner *raft.NetworkTransport, refused func(error)) *guardedTransport {
	t := &guardedTransport{
		NetworkTransport: inner, refused: refused,
		requests: make(chan raft.RPC), end: make(chan struct{}),
	}
	go t.forward()
	return t
}

// forward passes requests on until Close.
func (t *guardedTransport) forward() {
	for {
		select {
		case <-t.end:
			return
		case rpc := <-t.NetworkTransport.Consumer():
			if err := t.admit(rpc.Command); err != nil {
				go refuseRaft(rpc, err)
				continue
			}
			select {
			case t.requests <- rpc:
			case <-t.end:
				return
			}
		}
	}
}

// refuseRaft answers a request with an error. What follows the head of a snapshot is
// read off its stream first; it ends when the stream does.
func refuseRaft(rpc raft.RPC, err error) {
	if rpc.Reader != nil {
		_, _ = io.Copy(io.Discard, rpc.Reader)
	}
	rpc.Respond(nil, err)
}

func (t *guardedTransport) admit(command any) error {
	view := t.view.Load()
	if view == nil {
		return errRaftStarting
	}
	v := (*view)()
	if last := t.followed.Load(); last != nil {
		v.followed = *last
	}
	err := v.admit(command)
	if err != nil {
		t.refused(err)
		return err
	}
	if leader := leaderOf(command); leader != "" {
		t.followed.Store(&leader)
	}
	return nil
}

// leaderOf returns the server that sends entries or a snapshot, "" for other requests.
func leaderOf(command any) raft.ServerID {
	switch c := command.(type) {
	case *raft.AppendEntriesRequest:
		return raft.ServerID(c.ID)
	case *raft.InstallSnapshotRequest:
		return raft.ServerID(c.ID)
	}
	return ""
}

// begin lets requests in: Raft runs, and view tells what it knows.
func (t *guardedTransport) begin(view func() raftView) { t.view.Store(&view) }

// Consumer implements raft.Transport.
func (t *guardedTransport) Consumer() <-chan raft.RPC { return t.requests }

// SetHeartbeatHandler implements raft.Transport: heartbeats pass by Consumer.
func (t *guardedTransport) SetHeartbeatHandler(handle func(raft.RPC)) {
	if handle == nil {
		t.NetworkTransport.SetHeartbeatHandler(nil)
		return
	}
	t.NetworkTransport.SetHeartbeatHandler(func(rpc raft.RPC) {
		if err := t.admit(rpc.Command); err != nil {
			rpc.Respond(nil, err)
			return
		}
		handle(rpc)
	})
}

// Close implements raft.WithClose.
func (t *guardedTransport) Close() error {
	t.once.Do(func() { close(t.end) })
	return t.NetworkTransport.Close()
}

// answered checks the term of an answer to a request of the own term.
func (t *guardedTransport) answered(err error, own, term uint64) error {
	if err == nil {
		if err = (raftView{term: own}).believes(term); err != nil {
			t.refused(err)
		}
	}
	return err
}

// AppendEntries implements raft.Transport.
func (t *guardedTransport) AppendEntries(id raft.ServerID, to raft.ServerAddress, in *raft.AppendEntriesRequest, out *raft.AppendEntriesResponse) error {
	return t.answered(t.NetworkTransport.AppendEntries(id, to, in, out), in.Term, out.Term)
}

// RequestVote implements raft.Transport.
func (t *guardedTransport) RequestVote(id raft.ServerID, to raft.ServerAddress, in *raft.RequestVoteRequest, out *raft.RequestVoteResponse) error {
	return t.answered(t.NetworkTransport.RequestVote(id, to, in, out), in.Term, out.Term)
}

// RequestPreVote implements raft.WithPreVote.
func (t *guardedTransport) RequestPreVote(id raft.ServerID, to raft.ServerAddress, in *raft.RequestPreVoteRequest, out *raft.RequestPreVoteResponse) error {
	return t.answered(t.NetworkTransport.RequestPreVote(id, to, in, out), in.Term, out.Term)
}

var errRaftStarting = errors.New("grid: this Raft server is just starting")

// raftTouch is how long a server counts itself in touch with a leader from which it
// hears nothing: twice what it takes to begin an election.
const raftTouch = 2 * heartbeatTimeout

// raftView is what this member knows of Raft's servers now.
func (m *Member) raftView(node *raft.Raft, self raft.ServerID) raftView {
	_, leader := node.LeaderWithID()
	v := raftView{self: self, term: node.CurrentTerm(), leader: leader}
	v.inTouch = node.State() == raft.Leader || leader != "" && time.Since(node.LastContact()) < raftTouch
	future := node.GetConfiguration()
	if future.Error() != nil {
		return v
	}
	servers := future.Configuration().Servers
	v.empty = len(servers) == 0
	v.knows = func(id raft.ServerID) bool {
		if slices.ContainsFunc(servers, func(s raft.Server) bool { return s.ID == id }) {
			return true
		}
		return slices.ContainsFunc(m.roster.Load().Members, func(member partition.Member) bool {
			return serverID(member.Incarnation, member.Durable) == id
		})
	}
	return v
}

// refusedRaft logs that a Raft message was not believed.
func (m *Member) refusedRaft(err error) {
	if skipped, due := m.raftRefusals.due(m.clock.Mono()); due {
		m.log.Warn("Raft message refused", "reason", err, "more", skipped)
	}
}
