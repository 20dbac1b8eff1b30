package raftlog_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
)

// closing is a transport that counts how often it is closed.
type closing struct {
	*raft.InmemTransport
	closed int
}

func (c *closing) Close() error { c.closed++; return c.InmemTransport.Close() }

// TestEveryShutdownClosesTheTransport: a node whose end was only begun is ended, and its
// transport closed, when the next caller returns.
func TestEveryShutdownClosesTheTransport(t *testing.T) {
	_, inner := raft.NewInmemTransport("a")
	trans := &closing{InmemTransport: inner}
	store := raft.NewInmemStore()
	inRaft, err := raft.NewRaft(raftConfig("a"), machine{}, store, store, raft.NewInmemSnapshotStore(), trans)
	if err != nil {
		t.Fatal(err)
	}
	node := &raftlog.Node{Raft: inRaft, Server: "a"}
	node.Stop() // as of a member that steps down, and is closed meanwhile
	if err := node.Shutdown(); err != nil || trans.closed == 0 || node.Runs() {
		t.Errorf("after the shutdown: %v, the transport was closed %d times, the node runs: %v", err, trans.closed,
			node.Runs())
	}
}

// stalling is a store whose writes need its turn.
type stalling struct {
	*raft.InmemStore
	turn chan struct{}
}

func (s *stalling) StoreLogs(logs []*raft.Log) error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	return s.InmemStore.StoreLogs(logs)
}

// TestPassingTheLeadEnds: a lead that is passed on when the node ends has an answer, also while
// Raft is busy with its disk. Raft's own choice between the request and its end is random.
func TestPassingTheLeadEnds(t *testing.T) {
	for range 10 {
		synctest.Test(t, func(t *testing.T) {
			_, trans := raft.NewInmemTransport("a")
			_, other := raft.NewInmemTransport("b")
			trans.Connect("b", other)
			store := &stalling{raft.NewInmemStore(), make(chan struct{}, 1)}
			servers := []raft.Server{{ID: "a", Address: "a"}, {ID: "b", Address: "b", Suffrage: raft.Nonvoter}}
			if err := raft.BootstrapCluster(raftConfig("a"), store, store, raft.NewInmemSnapshotStore(), trans,
				raft.Configuration{Servers: servers}); err != nil {
				t.Fatal(err)
			}
			inRaft, err := raft.NewRaft(raftConfig("a"), machine{}, store, store, raft.NewInmemSnapshotStore(), trans)
			if err != nil {
				t.Fatal(err)
			}
			node := &raftlog.Node{Raft: inRaft, Server: "a"}
			<-inRaft.LeaderCh()
			if err := inRaft.Barrier(0).Error(); err != nil {
				t.Fatal(err)
			}
			store.turn <- struct{}{}
			inRaft.Apply([]byte("x"), 0)
			time.Sleep(time.Millisecond)
			passed, ended := make(chan error, 1), make(chan error, 1)
			go func() { passed <- node.PassLead("b") }()
			time.Sleep(time.Millisecond)
			go func() { ended <- node.Stop().Error() }()
			time.Sleep(time.Millisecond)
			<-store.turn
			if err := <-passed; err == nil {
				t.Error("the lead passed to a server without a vote")
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if err := node.PassLead("b"); err == nil {
				t.Error("the lead passed after the end")
			}
		})
	}
}
