package raftlog

import (
	"io"
	"path/filepath"

	"github.com/hashicorp/raft"
)

// SnapshotDir is where a data directory has Raft's snapshots.
const SnapshotDir = "snapshots"

// snapshotKey is where the log records the newest snapshot that was completed.
var snapshotKey = []byte("newest snapshot")

// snapshots are Raft's snapshots in a data directory. The log records the newest one,
// so that a start notices when it is missing: what it held was acknowledged, and may be
// in no log.
type snapshots struct {
	raft.SnapshotStore
	log *Log
}

// openSnapshots opens or creates the snapshots in dir that belong to a log.
func openSnapshots(dir string, l *Log, log io.Writer) (raft.SnapshotStore, error) {
	files, err := raft.NewFileSnapshotStore(filepath.Join(dir, SnapshotDir, l.ID), 2, log)
	if err != nil {
		return nil, err
	}
	return snapshots{files, l}, nil
}

// Create implements raft.SnapshotStore.
func (s snapshots) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration,
	configurationIndex uint64, trans raft.Transport) (raft.SnapshotSink, error) {
	sink, err := s.SnapshotStore.Create(version, index, term, configuration, configurationIndex, trans)
	if err != nil {
		return nil, err
	}
	return recordedSink{sink, s.log, index}, nil
}

// recordedSink records a snapshot when it is on disk.
type recordedSink struct {
	raft.SnapshotSink
	log   *Log
	index uint64
}

// Close implements raft.SnapshotSink. The record comes after the snapshot, and before
// Raft may acknowledge it.
func (s recordedSink) Close() error {
	if err := s.SnapshotSink.Close(); err != nil {
		return err
	}
	return s.log.SetUint64(snapshotKey, s.index)
}
