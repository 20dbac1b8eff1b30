package raftlog

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/transport"
)

// TestLeaderAtRestHasSlowHeartbeats: only a leader rests, after every server has answered for a
// while, and trouble or the end of the lead ends the rest.
func TestLeaderAtRestHasSlowHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, trans := raft.NewInmemTransport("a")
		store := raft.NewInmemStore()
		conf := raft.DefaultConfig()
		conf.LocalID, conf.HeartbeatTimeout, conf.ElectionTimeout = "a", transport.HeartbeatTimeout,
			transport.HeartbeatTimeout
		conf.LogLevel = "ERROR"
		node, err := raft.NewRaft(conf, nil, store, store, raft.NewInmemSnapshotStore(), trans)
		if err != nil {
			t.Fatal(err)
		}
		p := newPace(node, transport.HeartbeatTimeout, nil)
		want := func(when string, timeout time.Duration) {
			t.Helper()
			synctest.Wait()
			if c := node.ReloadableConfig(); c.HeartbeatTimeout != timeout || c.ElectionTimeout != timeout {
				t.Errorf("%s: timeouts %v and %v, want %v", when, c.HeartbeatTimeout, c.ElectionTimeout, timeout)
			}
		}
		p.enter(raft.Follower)
		time.Sleep(2 * restAfter)
		want("a follower", transport.HeartbeatTimeout)
		p.enter(raft.Leader)
		time.Sleep(restAfter)
		want("a leader at rest", restFactor*transport.HeartbeatTimeout)
		p.enter(raft.Follower)
		p.enter(raft.Leader)
		time.Sleep(restAfter - time.Millisecond)
		want("a new leader", transport.HeartbeatTimeout)
		p.trouble()
		time.Sleep(restAfter - time.Millisecond)
		want("a leader after trouble", transport.HeartbeatTimeout)
		time.Sleep(2 * time.Millisecond)
		want("a leader at rest", restFactor*transport.HeartbeatTimeout)
		p.trouble()
		want("a server that does not answer", transport.HeartbeatTimeout)
		time.Sleep(2 * restAfter)
		want("at rest again", restFactor*transport.HeartbeatTimeout)
		p.enter(raft.Follower)
		want("after the lead", transport.HeartbeatTimeout)
		p.trouble()
		time.Sleep(2 * restAfter)
		want("long after the lead", transport.HeartbeatTimeout)
		if err := node.Shutdown().Error(); err != nil {
			t.Error(err)
		}
	})
}
