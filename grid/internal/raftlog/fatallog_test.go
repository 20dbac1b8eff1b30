package raftlog_test

import (
	"errors"
	"github.com/snowgrid/snowgrid/internal/long"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/grid/internal/raftlogtest"
)

func TestRaftLogIsBrokenByItsFirstFailedWrite(t *testing.T) {
	writes := map[string]func(l *raftlog.Log) error{
		"StoreLog":    func(l *raftlog.Log) error { return l.StoreLog(entry(4)) },
		"StoreLogs":   func(l *raftlog.Log) error { return l.StoreLogs(entries(4, 5)) },
		"DeleteRange": func(l *raftlog.Log) error { return l.DeleteRange(3, 3) },
		"Set":         func(l *raftlog.Log) error { return l.Set([]byte("k"), nil) },
		"SetUint64":   func(l *raftlog.Log) error { return l.SetUint64([]byte("n"), 7) },
	}
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l := openLog(t, dir).(*raftlog.Log)
			if err := l.StoreLogs(entries(1, 3)); err != nil {
				t.Fatal(err)
			}
			var tried atomic.Int32
			l.OnWrite(func(string, func() error) error { tried.Add(1); return raftlogtest.ErrDisk })
			first := write(l)
			if !errors.Is(first, raftlogtest.ErrDisk) || !strings.Contains(first.Error(), dir) ||
				!strings.HasSuffix(first.Error(), raftlog.DiskAdvice) {
				t.Errorf("the error is %v", first)
			}
			select {
			case <-l.Broken():
			default:
				t.Error("no error was reported")
			}
			l.OnWrite(func(_ string, write func() error) error { tried.Add(1); return write() }) // it works again
			for name, write := range writes {
				if err := write(l); !errors.Is(err, first) {
					t.Errorf("%s after the failure: %v", name, err)
				}
			}
			if n := tried.Load(); n != 1 {
				t.Errorf("%d writes were tried, want 1", n)
			}
			expectRange(t, l, 1, 3)
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			expectRange(t, openLog(t, dir), 1, 3)
		})
	}
}

// machine is a state machine without state.
type machine struct{}

func (machine) Apply(*raft.Log) any                 { return nil }
func (machine) Snapshot() (raft.FSMSnapshot, error) { return machine{}, nil }
func (machine) Restore(from io.ReadCloser) error    { return from.Close() }
func (machine) Persist(sink raft.SnapshotSink) error {
	return sink.Close()
}
func (machine) Release() {}

// node is a Raft node on a log of its own.
type node struct {
	*raft.Raft
	id    raft.ServerID
	log   *raftlog.Log
	trans *raft.InmemTransport
}

func raftConfig(id raft.ServerID) *raft.Config {
	conf := raft.DefaultConfig()
	conf.LocalID = id
	conf.HeartbeatTimeout, conf.ElectionTimeout, conf.LeaderLeaseTimeout = 200*time.Millisecond, 200*time.Millisecond,
		100*time.Millisecond
	conf.CommitTimeout, conf.TrailingLogs = 5*time.Millisecond, 1
	conf.Logger = hclog.NewNullLogger()
	return conf
}

// startNodes starts three nodes that agree, the leader first.
func startNodes(t *testing.T) []*node {
	t.Helper()
	var nodes []*node
	var servers raft.Configuration
	for _, id := range []raft.ServerID{"a", "b", "c"} {
		addr, trans := raft.NewInmemTransportWithTimeout(raft.ServerAddress(id), 500*time.Millisecond)
		n := &node{id: id, log: openLog(t, t.TempDir()).(*raftlog.Log), trans: trans}
		for _, other := range nodes {
			n.trans.Connect(raft.ServerAddress(other.id), other.trans)
			other.trans.Connect(addr, n.trans)
		}
		nodes = append(nodes, n)
		servers.Servers = append(servers.Servers, raft.Server{ID: id, Address: addr})
	}
	elected := make(chan raft.Observation, 16)
	for _, n := range nodes {
		if err := raft.BootstrapCluster(raftConfig(n.id), n.log, n.log, raft.NewInmemSnapshotStore(), n.trans,
			servers); err != nil {
			t.Fatal(err)
		}
		var err error
		if n.Raft, err = raftlog.NewRaft(n.log, raftConfig(n.id), machine{}, n.trans); err != nil {
			t.Fatal(err)
		}
		n.RegisterObserver(raft.NewObserver(elected, true, func(o *raft.Observation) bool {
			state, is := o.Data.(raft.RaftState)
			return is && state == raft.Leader
		}))
		t.Cleanup(func() { n.end(t) })
	}
	for {
		select {
		case <-elected:
		case <-time.After(10 * time.Second):
			t.Fatal("no leader")
		}
		for i, n := range nodes {
			if n.State() == raft.Leader && n.Barrier(5*time.Second).Error() == nil {
				nodes[0], nodes[i] = nodes[i], nodes[0]
				return nodes
			}
		}
	}
}

// end shuts a node down, which must not hang.
func (n *node) end(t *testing.T) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- n.Shutdown().Error() }()
	endsSoon(t, ended, "the shutdown of node "+string(n.id))
}

// endsSoon fails the test if a channel brings nothing for seconds, or an error.
func endsSoon(t *testing.T, ended <-chan error, what string) {
	t.Helper()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("%s does not end", what)
	}
}

// TestFailedWriteOfTheLeader: the leader answers no success and steps down; the others
// continue.
func TestFailedWriteOfTheLeader(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	nodes := startNodes(t)
	leader := nodes[0]
	tried := raftlogtest.FailWrites(leader.log, raftlogtest.Append)
	if err := leader.Apply([]byte("x"), time.Second).Error(); err == nil {
		t.Error("an entry that is not on the leader's disk was agreed on by it")
	}
	raftlogtest.AwaitBroken(t, leader.log)
	leader.end(t)
	if n := tried.Load(); n != 1 {
		t.Errorf("%d writes after the failure", n-1)
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		for _, n := range nodes[1:] {
			if n.Apply([]byte("y"), 100*time.Millisecond).Error() == nil {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("the others do not continue")
		}
	}
}

// TestFailedWriteOfFollowers: an entry on the leader's disk alone is not committed, however
// often it is sent again, and although the followers' files contain it.
func TestFailedWriteOfFollowers(t *testing.T) {
	nodes := startNodes(t)
	var tried []*atomic.Int32
	for _, n := range nodes[1:] {
		tried = append(tried, raftlogtest.FailWrites(n.log, raftlogtest.Append))
	}
	if err := nodes[0].Apply([]byte("x"), time.Second).Error(); err == nil {
		t.Error("an entry that is on one of three disks was agreed on")
	}
	for i, n := range nodes[1:] {
		raftlogtest.AwaitBroken(t, n.log)
		n.end(t)
		if n := tried[i].Load(); n != 1 {
			t.Errorf("%d writes after the failure", n-1)
		}
	}
}

// TestFailedWriteOfATerm: Raft would panic.
func TestFailedWriteOfATerm(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	nodes := startNodes(t)
	for _, n := range nodes {
		raftlogtest.FailWrites(n.log, raftlogtest.KeepTerm)
	}
	// No disk can store a vote.
	err := nodes[0].LeadershipTransferToServer(nodes[1].id, raft.ServerAddress(nodes[1].id)).Error()
	raftlogtest.AwaitBroken(t, nodes[1].log)
	t.Log("transfer:", err)
	nodes[1].end(t)
	if nodes[1].State() != raft.Shutdown {
		t.Errorf("node %s is %v", nodes[1].id, nodes[1].State())
	}
}

// TestFailedCompaction: the log can be read from and the node shut down.
func TestFailedCompaction(t *testing.T) {
	nodes := startNodes(t)
	leader := nodes[0]
	for range 5 {
		if err := leader.Apply([]byte("x"), time.Second).Error(); err != nil {
			t.Fatal(err)
		}
	}
	tried := raftlogtest.FailWrites(leader.log, raftlogtest.Truncate)
	leader.Snapshot() // its goroutine ends and gives no answer
	raftlogtest.AwaitBroken(t, leader.log)
	if err := leader.Apply([]byte("y"), time.Second).Error(); err == nil {
		t.Error("the leader agreed on something after its disk had failed")
	}
	leader.end(t)
	if n := tried.Load(); n != 1 {
		t.Errorf("%d writes after the failure", n-1)
	}
}

func TestStartOnABrokenLog(t *testing.T) {
	l := openLog(t, t.TempDir()).(*raftlog.Log)
	raftlogtest.FailWrites(l, raftlogtest.KeepTerm)
	addr, trans := raft.NewInmemTransport("a")
	servers := raft.Configuration{Servers: []raft.Server{{ID: "a", Address: addr}}}
	err := raft.BootstrapCluster(raftConfig("a"), l, l, raft.NewInmemSnapshotStore(), trans, servers)
	if err == nil || !strings.Contains(err.Error(), raftlog.DiskAdvice) {
		t.Errorf("bootstrap: %v", err)
	}
	if n, err := raftlog.NewRaft(l, raftConfig("a"), machine{}, trans); n != nil || !errors.Is(err, raftlogtest.ErrDisk) {
		t.Errorf("start: %v, %v", n, err)
	}
}
