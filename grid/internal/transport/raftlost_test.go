package transport_test

import (
	"testing"
	"testing/synctest"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
)

// TestVoteIsAskedForOnALiveStream: a candidate's streams to a server may be of before it restarted.
func TestVoteIsAskedForOnALiveStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		server := transport.NewRaft(layer(t, n, "b", gridID, nil), addresses{}, hclog.NewNullLogger())
		candidate := transport.GuardRaft(transport.NewRaft(layer(t, n, "a", gridID, nil), addresses{}, hclog.NewNullLogger()),
			func(err error) { t.Error(err) })
		end := make(chan struct{})
		defer close(end)
		go func() {
			for {
				select {
				case <-end:
					return
				case rpc := <-server.Consumer():
					switch rpc.Command.(type) {
					case *raft.RequestVoteRequest:
						rpc.Respond(&raft.RequestVoteResponse{Granted: true}, nil)
					case *raft.RequestPreVoteRequest:
						rpc.Respond(&raft.RequestPreVoteResponse{Granted: true}, nil)
					}
				}
			}
		}()
		vote := func() {
			t.Helper()
			var out raft.RequestVoteResponse
			if err := candidate.RequestVote("b", dialTo("b"), &raft.RequestVoteRequest{}, &out); err != nil || !out.Granted {
				t.Errorf("no vote: %v", err)
			}
			var pre raft.RequestPreVoteResponse
			if err := candidate.RequestPreVote("b", dialTo("b"), &raft.RequestPreVoteRequest{}, &pre); err != nil ||
				!pre.Granted {
				t.Errorf("no vote before an election: %v", err)
			}
		}
		vote()
		n.Break("b")
		vote()
		n.Break("b")
		var pre raft.RequestPreVoteResponse
		if err := candidate.RequestPreVote("b", dialTo("b"), &raft.RequestPreVoteRequest{}, &pre); err != nil {
			t.Errorf("no vote before an election: %v", err)
		}
		n.Crash("b")
		if err := candidate.RequestVote("b", dialTo("b"), &raft.RequestVoteRequest{},
			&raft.RequestVoteResponse{}); err == nil {
			t.Error("a server that has ended voted")
		}
		_, _ = candidate.Close(), server.Close()
	})
}
