package transport

import (
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/raft"
)

// GuardedRaft is Raft's transport behind a guard: a request that raftView does not admit is answered
// with an error and never reaches Raft, and a reply with an implausible term is dropped.
type GuardedRaft struct {
	*raft.NetworkTransport
	refused func(error)                     // called for each refused request and dropped reply
	view    atomic.Pointer[func() RaftView] // nil until Raft runs
	// followed is the last server that sent entries or a snapshot to Raft.
	followed atomic.Pointer[raft.ServerID]
	// Unreached, if not nil, is called for a server that does not accept entries or heartbeats: the last
	// request failed, or, with slow set, has been unanswered for a while. It is set before Raft runs, and
	// must not block.
	Unreached func(server raft.ServerID, slow bool)
	// Doubted is called when another server misses the leader that this one follows.
	Doubted func()
	// Muted, if not nil, returns why this server sends no entries and no heartbeats at present, nil while it does. It is
	// set before Raft runs.
	Muted func() error

	resumes  resumes
	requests chan raft.RPC
	end      chan struct{}
	once     sync.Once
}

var (
	_ raft.Transport   = (*GuardedRaft)(nil)
	_ raft.WithPreVote = (*GuardedRaft)(nil)
	_ raft.WithClose   = (*GuardedRaft)(nil)
)

// GuardRaft puts a guard in front of a transport. It ends with Close.
func GuardRaft(inner *raft.NetworkTransport, refused func(error)) *GuardedRaft {
	t := &GuardedRaft{
		NetworkTransport: inner, refused: refused,
		requests: make(chan raft.RPC), end: make(chan struct{}),
	}
	go t.forward()
	return t
}

func (t *GuardedRaft) forward() {
	for {
		select {
		case <-t.end:
			return
		case rpc := <-t.NetworkTransport.Consumer():
			passed, answer, err := t.admit(rpc.Command)
			if err != nil {
				go refuseRaft(rpc, err)
				continue
			}
			if answer != nil {
				rpc.Respond(answer, nil)
				continue
			}
			rpc.Command = passed
			select {
			case t.requests <- rpc:
			case <-t.end:
				return
			}
		}
	}
}

// refuseRaft answers a request with an error. It first drains a snapshot's body from its stream; the
// drain ends with the stream.
func refuseRaft(rpc raft.RPC, err error) {
	if rpc.Reader != nil {
		_, _ = io.Copy(io.Discard, rpc.Reader)
	}
	rpc.Respond(nil, err)
}

// admit returns the request for Raft, or a reply to give instead, or an error to refuse it.
func (t *GuardedRaft) admit(command any) (passed, answer any, err error) {
	view := t.view.Load()
	if view == nil {
		return nil, nil, errRaftStarting
	}
	v := (*view)()
	if last := t.followed.Load(); last != nil {
		v.followed = *last
	}
	if err := v.admit(command); err != nil {
		t.refused(err)
		return nil, nil, err
	}
	if leader := leaderOf(command); leader != "" {
		t.followed.Store(&leader)
	}
	if _, asked := command.(*raft.RequestPreVoteRequest); asked && v.leader != "" && t.Doubted != nil {
		t.Doubted()
	}
	passed, answer = v.voting(command)
	return passed, answer, nil
}

func leaderOf(command any) raft.ServerID {
	switch c := command.(type) {
	case *raft.AppendEntriesRequest:
		return raft.ServerID(c.ID)
	case *raft.InstallSnapshotRequest:
		return raft.ServerID(c.ID)
	}
	return ""
}

// Begin admits requests: Raft is running, and view returns its state.
func (t *GuardedRaft) Begin(view func() RaftView) { t.view.Store(&view) }

// Consumer implements raft.Transport.
func (t *GuardedRaft) Consumer() <-chan raft.RPC { return t.requests }

// SetHeartbeatHandler implements raft.Transport: heartbeats pass by Consumer.
func (t *GuardedRaft) SetHeartbeatHandler(handle func(raft.RPC)) {
	if handle == nil {
		t.NetworkTransport.SetHeartbeatHandler(nil)
		return
	}
	t.NetworkTransport.SetHeartbeatHandler(func(rpc raft.RPC) {
		if _, _, err := t.admit(rpc.Command); err != nil { // only entries come here
			rpc.Respond(nil, err)
			return
		}
		handle(rpc)
	})
}

// Close implements raft.WithClose.
func (t *GuardedRaft) Close() error {
	t.once.Do(func() { close(t.end) })
	return t.NetworkTransport.Close()
}

// answered checks the term of an answer to a request of the own term.
func (t *GuardedRaft) answered(err error, own, term uint64) error {
	if err == nil {
		if err = (RaftView{term: own}).believes(term); err != nil {
			t.refused(err)
		}
	}
	return err
}

// slowAnswer is the time that a server may take over entries before Unreached is called. A busy server
// then only costs a needless probe.
const slowAnswer = 150 * time.Millisecond

// AppendEntries implements raft.Transport. A request that failed, other than a heartbeat, is sent again when the server
// answers heartbeats: see [resumes].
func (t *GuardedRaft) AppendEntries(id raft.ServerID, to raft.ServerAddress, in *raft.AppendEntriesRequest,
	out *raft.AppendEntriesResponse) error {
	err := t.appendEntries(id, to, in, out)
	if isHeartbeat(in) {
		if err == nil {
			t.resumes.answered(id)
		}
		return err
	}
	for err != nil && t.await(id, in.Term) {
		*out = raft.AppendEntriesResponse{}
		err = t.appendEntries(id, to, in, out)
	}
	return err
}

func (t *GuardedRaft) appendEntries(id raft.ServerID, to raft.ServerAddress, in *raft.AppendEntriesRequest,
	out *raft.AppendEntriesResponse) error {
	if t.Muted != nil {
		if err := t.Muted(); err != nil {
			return err
		}
	}
	if t.Unreached != nil {
		slow := time.AfterFunc(slowAnswer, func() { t.Unreached(id, true) })
		defer slow.Stop()
	}
	err := t.NetworkTransport.AppendEntries(id, to, in, out)
	if err != nil && t.Unreached != nil {
		t.Unreached(id, false)
	}
	return t.answered(err, in.Term, out.Term)
}

// Stand has this server's Raft stand for election now, as if its leader had passed the
// lead on to it. It returns when Raft has begun, and false when it does not within limit.
func (t *GuardedRaft) Stand(self raft.ServerID, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	answer := make(chan raft.RPCResponse, 1)
	request := &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{
		ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(self), Addr: t.EncodePeer(self, t.LocalAddr()),
	}}
	select {
	case t.requests <- raft.RPC{Command: request, RespChan: answer}:
	case <-t.end:
		return false
	case <-timer.C:
		return false
	}
	select {
	case a := <-answer:
		return a.Error == nil
	case <-t.end:
		return false
	case <-timer.C:
		return false
	}
}

// RequestVote implements raft.Transport.
func (t *GuardedRaft) RequestVote(id raft.ServerID, to raft.ServerAddress, in *raft.RequestVoteRequest,
	out *raft.RequestVoteResponse) error {
	err := onLiveStream(func() error { return t.NetworkTransport.RequestVote(id, to, in, out) })
	return t.answered(err, in.Term, out.Term)
}

// RequestPreVote implements raft.WithPreVote.
func (t *GuardedRaft) RequestPreVote(id raft.ServerID, to raft.ServerAddress, in *raft.RequestPreVoteRequest,
	out *raft.RequestPreVoteResponse) error {
	err := onLiveStream(func() error { return t.NetworkTransport.RequestPreVote(id, to, in, out) })
	return t.answered(err, in.Term, out.Term)
}

// onLiveStream repeats a call if its stream had already ended: Raft keeps idle streams, and streams to
// a restarted server are dead. A candidate requests each vote once, so a vote lost this way costs the
// election.
func onLiveStream(call func() error) error {
	err := call()
	for range idleStreams {
		if !slices.ContainsFunc(streamEnds, func(end error) bool { return errors.Is(err, end) }) {
			break
		}
		err = call()
	}
	return err
}

// streamEnds are the errors of a call on a stream that had ended: at the other end, here because the other
// end was replaced, or by keepalives without an answer.
var streamEnds = []error{io.EOF, syscall.EPIPE, syscall.ECONNRESET, net.ErrClosed, syscall.ETIMEDOUT}

var errRaftStarting = errors.New("grid: this Raft server is just starting")
