// Package raftlog runs a member's part in the agreement on the roster: a Raft server that
// starts and ends with each grid (server.go, node.go), the machine that applies agreed
// commands to the roster (fsm.go), and, in a data directory, the log, term and vote with
// the snapshots that take the place of the log's beginning (raftlog.go, snapshots.go).
//
// A member whose disk fails, or that cannot read a command, takes part no longer: what it
// acknowledges after that could be lost, or differ from every other roster.
package raftlog

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	bolt "go.etcd.io/bbolt"

	"github.com/snowgrid/snowgrid/grid/internal/boltfile"
	"github.com/snowgrid/snowgrid/internal/measure"
)

// File is the log's name in a data directory.
const File = "raft.db"

var raftTerm = []byte("CurrentTerm")

// errKeyNotFound is a missing key. Raft compares this exact text.
var errKeyNotFound = errors.New("not found")

// Log keeps Raft's log, term and vote in one file of a data directory.
// Whatever returned without error survives a crash of the machine.
//
// No write follows a failed one: the result of a failed fsync is unknown, and a later
// successful one proves nothing about it. Stored entries can still be read.
type Log struct {
	Dir    string
	ID     string // this log's; the member's identity names it
	db     *bolt.DB
	broken chan struct{} // closed when a write has failed
	writes measure.Histogram
	pace   writePace
	slowed atomic.Int64 // how much longer each write takes, in a test

	present atomic.Pointer[time.Time] // the beginning of the write in progress, nil for none

	mu     sync.Mutex // held during a write
	write  func(doing string, change func(*bolt.Tx) error) error
	failed error // set before broken is closed, and never again
}

var (
	_ raft.LogStore    = (*Log)(nil)
	_ raft.StableStore = (*Log)(nil)
)

// Clear removes every entry, the term and the vote, after an attempt to form a grid that never had a
// first command.
func (l *Log) Clear() error { return l.Replace(l.ID, 0, nil) }

// Replace replaces the log by another one with the given entries, atomically.
func (l *Log) Replace(id string, term uint64, entries []*raft.Log) error {
	err := l.update("replacing the Raft log", func(e *editor) error {
		for _, name := range [][]byte{raftEntries, raftStable} {
			if err := e.clear(name, nil, nil); err != nil {
				return err
			}
		}
		if err := e.append(entries); err != nil {
			return err
		}
		if term > 0 {
			if err := e.put(raftStable, raftTerm, withChecksum(raftTerm, binary.BigEndian.AppendUint64(nil, term))); err != nil {
				return err
			}
		}
		return e.put(raftAbout, raftLogID, withChecksum(raftLogID, []byte(id)))
	})
	if err == nil {
		l.ID = id
	}
	return err
}

func (e *editor) append(entries []*raft.Log) error {
	e.tx.Bucket(raftEntries).FillPercent = 0.95 // indexes come in order
	for _, entry := range entries {
		if err := e.put(raftEntries, indexKey(entry.Index), encodeEntry(entry)); err != nil {
			return err
		}
	}
	return nil
}

// Close lets go of the data directory. It may be called more than once.
func (l *Log) Close() error {
	if err := l.db.Close(); err != nil {
		return fmt.Errorf("grid: closing the Raft log: %w", err)
	}
	return nil
}

// FirstIndex implements raft.LogStore.
func (l *Log) FirstIndex() (uint64, error) {
	return l.edge((*bolt.Cursor).First)
}

// LastIndex implements raft.LogStore.
func (l *Log) LastIndex() (uint64, error) {
	return l.edge((*bolt.Cursor).Last)
}

func (l *Log) edge(seek func(*bolt.Cursor) (key, value []byte)) (index uint64, err error) {
	err = l.view("reading the range of the Raft log", func(tx *bolt.Tx) error {
		if key, _ := seek(tx.Bucket(raftEntries).Cursor()); key != nil {
			index = binary.BigEndian.Uint64(key)
		}
		return nil
	})
	return index, err
}

// GetLog implements raft.LogStore. The error is raft.ErrLogNotFound, as it is,
// for an index that is not stored.
func (l *Log) GetLog(index uint64, entry *raft.Log) error {
	found := false
	err := l.view("reading the Raft log", func(tx *bolt.Tx) error {
		value := tx.Bucket(raftEntries).Get(indexKey(index))
		if value == nil {
			return nil
		}
		found = true
		return decodeEntry(index, value, entry)
	})
	if err == nil && !found {
		return raft.ErrLogNotFound
	}
	return err
}

// StoreLog implements raft.LogStore.
func (l *Log) StoreLog(entry *raft.Log) error {
	return l.StoreLogs([]*raft.Log{entry})
}

// StoreLogs implements raft.LogStore: all of the entries or none.
func (l *Log) StoreLogs(entries []*raft.Log) error {
	return l.update("writing the Raft log", func(e *editor) error { return e.append(entries) })
}

// IsMonotonic implements raft.MonotonicLogStore: when a snapshot of another member takes the
// place of the log, all entries before it are deleted, and no gap is left.
func (l *Log) IsMonotonic() bool { return true }

// DeleteRange implements raft.LogStore: both ends are deleted too.
func (l *Log) DeleteRange(first, last uint64) error {
	return l.update("truncating the Raft log", func(e *editor) error {
		return e.clear(raftEntries, indexKey(first), indexKey(last))
	})
}

// Set implements raft.StableStore.
func (l *Log) Set(key, value []byte) error {
	return l.update("writing Raft's state", func(e *editor) error {
		return e.put(raftStable, key, withChecksum(key, value))
	})
}

// Get implements raft.StableStore. The error is errKeyNotFound for a missing
// key.
func (l *Log) Get(key []byte) (value []byte, err error) {
	err = l.view("reading Raft's state", func(tx *bolt.Tx) error {
		stored := tx.Bucket(raftStable).Get(key)
		if stored == nil {
			return nil
		}
		stored, err := checked(key, stored)
		value = append([]byte{}, stored...) // stored is gone with tx
		return err
	})
	if err == nil && value == nil {
		return nil, errKeyNotFound
	}
	return value, err
}

// SetUint64 implements raft.StableStore.
func (l *Log) SetUint64(key []byte, value uint64) error {
	return l.Set(key, binary.BigEndian.AppendUint64(nil, value))
}

// GetUint64 implements raft.StableStore. The error is errKeyNotFound for a
// missing key.
func (l *Log) GetUint64(key []byte) (uint64, error) {
	value, err := l.Get(key)
	if err != nil {
		return 0, err
	}
	if len(value) != 8 {
		return 0, fmt.Errorf("grid: Raft's state %q has %d bytes, not 8", key, len(value))
	}
	return binary.BigEndian.Uint64(value), nil
}

func (l *Log) view(doing string, read func(*bolt.Tx) error) error {
	if err := boltfile.Guard(func() error { return l.db.View(read) }); err != nil {
		return fmt.Errorf("grid: %s: %w", doing, err)
	}
	return nil
}

// update makes a change, which is on disk when it returns nil. After the first failure it
// no longer writes.
func (l *Log) update(doing string, change func(*editor) error) error {
	began := time.Now()
	l.present.CompareAndSwap(nil, &began)
	defer l.present.CompareAndSwap(&began, nil)
	if d := l.slowed.Load(); d > 0 {
		time.Sleep(time.Duration(d))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.failed
	}
	l.present.Store(&began)
	err := l.write(doing, func(tx *bolt.Tx) error { return edit(tx, change) })
	took := time.Since(began)
	l.writes.Observe(took)
	l.pace.note(took)
	if err != nil {
		l.failed = &DiskError{Dir: l.Dir, Doing: doing, Cause: err}
		close(l.broken)
	}
	return l.failed
}

// Fail makes later changes fail, as after a failed write, and returns their error.
func (l *Log) Fail(doing string, cause error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		l.failed = &DiskError{Dir: l.Dir, Doing: doing, Cause: cause}
		close(l.broken)
	}
	return l.failed
}

// Failure returns the error of the first failed write, nil without one and for a
// memory-only member.
func (l *Log) Failure() error {
	if l == nil {
		return nil
	}
	select {
	case <-l.broken:
		return l.failed
	default:
		return nil
	}
}

func indexKey(index uint64) []byte {
	return binary.BigEndian.AppendUint64(nil, index)
}

// Broken returns a channel that is closed when a write has failed.
func (l *Log) Broken() <-chan struct{} { return l.broken }

// NewID draws a log's name.
func NewID() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
