package raftlog

import "github.com/hashicorp/raft"

// Names for the tests in package raftlog_test.
type FatalLog = fatalLog

var (
	EncodeEntry    = encodeEntry
	DecodeEntry    = decodeEntry
	ErrKeyNotFound = errKeyNotFound
	ErrBadEntry    = errBadEntry
)

// NewRaft starts a node on a log, as a server does.
func NewRaft(l *Log, conf *raft.Config, machine raft.FSM, trans raft.Transport) (*raft.Raft, error) {
	s := Stores{Logs: l, Stable: l, Snaps: raft.NewInmemSnapshotStore(), Disk: l}
	return s.newRaft(conf, machine, trans)
}

// Snapshot has a node take a snapshot.
func Snapshot(n *Node) error { return n.snapshot() }

// Await has a node await a request.
func Await(n *Node, start func() raft.Future) error { return n.await(start) }

// SetBroken sets the channel that is closed when a write of a node's log has failed.
func SetBroken(n *Node, broken <-chan struct{}) { n.broken = broken }
