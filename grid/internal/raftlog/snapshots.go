package raftlog

import (
	"encoding/binary"
	"errors"
	"hash/crc64"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/boltfile"
)

// SnapshotDir is the subdirectory for Raft's snapshots.
const SnapshotDir = "snapshots"

// Raft's names below the directory of a log's snapshots.
const (
	raftSnapshotDir  = "snapshots"
	raftSnapshotMeta = "meta.json"
)

var snapshotKey = []byte("newest snapshot")

var ecma = crc64.MakeTable(crc64.ECMA)

// snapshots are Raft's snapshots in a data directory. The log records the newest one,
// so that a start notices when it is missing: what it held was acknowledged, and may be
// in no log. The record has the checksum of the snapshot's description, which in turn has that
// of its content. A snapshot that is not recorded was not completed, and does not count.
type snapshots struct {
	raft.SnapshotStore
	log *Log
	dir string // with one directory for each snapshot
}

// openSnapshots opens or creates a log's snapshots in dir. They are readable by the process's user
// only: they contain the codes of numbers.
func openSnapshots(dir string, l *Log, log io.Writer) (*snapshots, error) {
	all := filepath.Join(dir, SnapshotDir)
	own := filepath.Join(all, l.ID)
	if err := os.MkdirAll(own, 0o700); err != nil {
		return nil, err
	}
	files, err := raft.NewFileSnapshotStore(own, 2, log)
	if err != nil {
		return nil, err
	}
	if err := restrict(all); err != nil {
		return nil, err
	}
	return &snapshots{files, l, filepath.Join(own, raftSnapshotDir)}, nil
}

// restrict takes the access to a directory, and all that is in it, from all but its owner.
func restrict(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := os.FileMode(0o600)
		if entry.IsDir() {
			mode = 0o700
		}
		info, err := entry.Info()
		if err != nil || info.Mode().Perm() == mode || !entry.IsDir() && !entry.Type().IsRegular() {
			return err
		}
		err = os.Chmod(path, mode)
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) {
			return nil // another user's, or a file system without modes
		}
		return err
	})
}

// snapshotRecord is the record of a snapshot in the log: index 8, checksum of the
// description 8, name. The zero value is no snapshot.
type snapshotRecord struct {
	index, sum uint64
	name       string
}

// snapshot returns the record of the newest snapshot, zero if there is none.
func (l *Log) snapshot() (r snapshotRecord, err error) {
	b, err := l.Get(snapshotKey)
	if errors.Is(err, errKeyNotFound) {
		return r, nil
	}
	if err == nil && len(b) < 16 {
		err = boltfile.Damaged("the record of the newest snapshot has %d bytes", len(b))
	}
	if err != nil {
		return r, err
	}
	return snapshotRecord{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), string(b[16:])}, nil
}

func (s *snapshots) describe(name string) (uint64, error) {
	data, err := os.ReadFile(filepath.Join(s.dir, name, raftSnapshotMeta))
	return crc64.Checksum(data, ecma), err
}

func (s *snapshots) verify(r snapshotRecord) error {
	if r == (snapshotRecord{}) {
		return nil
	}
	file := filepath.Join(SnapshotDir, s.log.ID, raftSnapshotDir, r.name)
	switch sum, err := s.describe(r.name); {
	case errors.Is(err, fs.ErrNotExist):
		return snapshotLost(s.log.Dir, r.index)
	case err != nil:
		return damaged(s.log.Dir, filepath.Join(file, raftSnapshotMeta), err)
	case sum != r.sum:
		return damaged(s.log.Dir, filepath.Join(file, raftSnapshotMeta),
			boltfile.Damaged("its checksum does not match its content"))
	}
	meta, from, err := s.Open(r.name) // reads all of it
	if err != nil {
		return damaged(s.log.Dir, file, err)
	}
	if err = from.Close(); err == nil && meta.Index != r.index {
		err = boltfile.Damaged("it is of entry %d, and that of entry %d is recorded", meta.Index, r.index)
	}
	if err != nil {
		return damaged(s.log.Dir, file, err)
	}
	return nil
}

// List implements raft.SnapshotStore: it returns the recorded snapshot.
func (s *snapshots) List() ([]*raft.SnapshotMeta, error) {
	record, err := s.log.snapshot()
	if err != nil {
		return nil, err
	}
	found, err := s.SnapshotStore.List()
	return slices.DeleteFunc(found, func(m *raft.SnapshotMeta) bool { return m.ID != record.name }), err
}

// Create implements raft.SnapshotStore. It first removes unrecorded snapshots, so that the store never
// drops the recorded one instead.
func (s *snapshots) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration,
	configurationIndex uint64, trans raft.Transport) (raft.SnapshotSink, error) {
	record, err := s.log.snapshot()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(s.dir)
	for _, e := range entries {
		if e.Name() != record.name {
			err = errors.Join(err, os.RemoveAll(filepath.Join(s.dir, e.Name())))
		}
	}
	if err != nil {
		return nil, err
	}
	sink, err := s.SnapshotStore.Create(version, index, term, configuration, configurationIndex, trans)
	if err != nil {
		return nil, err
	}
	return recordedSink{sink, s, index}, nil
}

// recordedSink records a snapshot when it is on disk.
type recordedSink struct {
	raft.SnapshotSink
	all   *snapshots
	index uint64
}

// Close implements raft.SnapshotSink. The record comes after the snapshot, and before
// Raft may acknowledge it.
func (s recordedSink) Close() error {
	if err := s.SnapshotSink.Close(); err != nil {
		return err
	}
	sum, err := s.all.describe(s.ID())
	if err := errors.Join(err, restrict(filepath.Join(s.all.dir, s.ID()))); err != nil {
		return err
	}
	record := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, s.index), sum)
	return s.all.log.Set(snapshotKey, append(record, s.ID()...))
}
