package raftlog_test

import (
	"testing"

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
		t.Errorf("after the shutdown: %v, the transport was closed %d times, the node runs: %v", err, trans.closed, node.Runs())
	}
}
