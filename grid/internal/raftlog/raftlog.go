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
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/snowgrid/snowgrid/internal/measure"
)

const (
	// File is the log's name in a data directory.
	File = "raft.db"
	// raftLogLockTimeout is how long a new process waits for the one before it
	// to let go of the data directory.
	raftLogLockTimeout = time.Second
	// raftLogMin is the least that a log has which was made as a whole: four
	// pages. Reading behind the end of a shorter one would end the process.
	raftLogMin = 4 * 4096
)

var (
	raftEntries = []byte("entries") // big-endian index to entry
	raftStable  = []byte("stable")  // Raft's own keys: term, vote
	raftAbout   = []byte("about")   // the description of the log
	raftLogID   = []byte("id")      // ... its name, drawn when it was made
	raftTerm    = []byte("CurrentTerm")
)

// errKeyNotFound is a missing key. Raft knows it by exactly this text.
var errKeyNotFound = errors.New("not found")

// Log keeps Raft's log, term and vote in one file of a data directory.
// Whatever returned without error survives a crash of the machine.
//
// No write follows a failed one: the result of a failed fsync is unknown, and a later
// successful one proves nothing about it. Stored entries can still be read.
type Log struct {
	Dir    string
	ID     string // of this log; the member's identity names it
	db     *bolt.DB
	broken chan struct{} // closed when a write has failed
	writes measure.Histogram

	mu     sync.Mutex // held during a write
	write  func(doing string, change func(*bolt.Tx) error) error
	failed error // set before broken is closed, and never again
}

var (
	_ raft.LogStore    = (*Log)(nil)
	_ raft.StableStore = (*Log)(nil)
)

// Open opens or creates the log in dir, and dir itself. One process at a
// time may have it open.
func Open(dir string) (*Log, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("grid: cannot create data directory %s: %w", dir, err)
	}
	path := filepath.Join(dir, File)
	info, err := os.Stat(path)
	isNew := errors.Is(err, fs.ErrNotExist)
	if err == nil && info.Size() > 0 && info.Size() < raftLogMin {
		return nil, fmt.Errorf("grid: %s in data directory %s is cut off; restore it, or delete it if this member has never run", File, dir)
	}
	file, db, err := openBolt(path)
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("grid: data directory %s is used by another process: stop it or choose another DataDir: %w", dir, err)
	}
	if err != nil && isNew {
		_ = os.Remove(path) // only a part of it may be there
	}
	if err != nil {
		return nil, fmt.Errorf("grid: cannot open %s in data directory %s: %w", File, dir, err)
	}
	l := &Log{Dir: dir, db: db, broken: make(chan struct{})}
	l.write = func(_ string, change func(*bolt.Tx) error) error {
		return Guarded(func() error { return db.Update(change) })
	}
	if err := errors.Join(l.createBuckets(), SyncDir(dir)); err != nil {
		discard(file) // db may not be able to close itself
		return nil, fmt.Errorf("grid: cannot prepare %s in data directory %s: %w", File, dir, err)
	}
	return l, nil
}

// openBolt opens a database, and returns its file too, which is closed if that fails.
func openBolt(path string) (file *os.File, db *bolt.DB, err error) {
	options := &bolt.Options{Timeout: raftLogLockTimeout, FreelistType: bolt.FreelistMapType}
	options.OpenFile = func(name string, flag int, mode os.FileMode) (_ *os.File, err error) {
		file, err = os.OpenFile(name, flag, mode)
		return file, err
	}
	err = Guarded(func() (err error) {
		db, err = bolt.Open(path, 0o600, options)
		return err
	})
	if err != nil && file != nil {
		discard(file)
	}
	return file, db, err
}

// discard releases the file of a database that cannot be used, and its lock.
func discard(f *os.File) {
	unlock(f)
	_ = f.Close()
}

// createBuckets creates the buckets of a new log, and reads the log's ID.
func (l *Log) createBuckets() error {
	return Guarded(func() error {
		return l.db.Update(func(tx *bolt.Tx) error {
			for _, name := range [][]byte{raftEntries, raftStable, raftAbout} {
				if _, err := tx.CreateBucketIfNotExists(name); err != nil {
					return err
				}
			}
			about := tx.Bucket(raftAbout)
			if l.ID = string(about.Get(raftLogID)); l.ID != "" {
				return nil
			}
			l.ID = NewID()
			return about.Put(raftLogID, []byte(l.ID))
		})
	})
}

// Clear removes every entry, and the term and the vote: those of an attempt to form a grid that never
// had a first command.
func (l *Log) Clear() error { return l.Replace(l.ID, 0, nil) }

// Replace replaces the log by another one with the given entries, atomically.
func (l *Log) Replace(id string, term uint64, entries []*raft.Log) error {
	err := l.update("replacing the Raft log", func(tx *bolt.Tx) error {
		for _, name := range [][]byte{raftEntries, raftStable} {
			if err := tx.DeleteBucket(name); err != nil {
				return err
			}
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		for _, entry := range entries {
			if err := tx.Bucket(raftEntries).Put(indexKey(entry.Index), encodeEntry(entry)); err != nil {
				return err
			}
		}
		if term > 0 {
			if err := tx.Bucket(raftStable).Put(raftTerm, binary.BigEndian.AppendUint64(nil, term)); err != nil {
				return err
			}
		}
		return tx.Bucket(raftAbout).Put(raftLogID, []byte(id))
	})
	if err == nil {
		l.ID = id
	}
	return err
}

// Guarded runs what reads a file that this process may not have written: bbolt panics
// over pages that make no sense, and a page that is missing is a fault of memory.
func Guarded(read func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the file is damaged: %v", r)
		}
	}()
	return read()
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
	return l.update("writing the Raft log", func(tx *bolt.Tx) error {
		bucket := tx.Bucket(raftEntries)
		bucket.FillPercent = 0.95 // indexes come in order
		for _, entry := range entries {
			if err := bucket.Put(indexKey(entry.Index), encodeEntry(entry)); err != nil {
				return err
			}
		}
		return nil
	})
}

// DeleteRange implements raft.LogStore: both ends are deleted too.
func (l *Log) DeleteRange(first, last uint64) error {
	return l.update("truncating the Raft log", func(tx *bolt.Tx) error {
		bucket := tx.Bucket(raftEntries)
		// Deleting moves cursors, so look first.
		var indexes []uint64
		cursor := bucket.Cursor()
		for key, _ := cursor.Seek(indexKey(first)); key != nil; key, _ = cursor.Next() {
			index := binary.BigEndian.Uint64(key)
			if index > last {
				break
			}
			indexes = append(indexes, index)
		}
		for _, index := range indexes {
			if err := bucket.Delete(indexKey(index)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Set implements raft.StableStore.
func (l *Log) Set(key, value []byte) error {
	return l.update("writing Raft's state", func(tx *bolt.Tx) error {
		return tx.Bucket(raftStable).Put(key, value)
	})
}

// Get implements raft.StableStore. The error is errKeyNotFound for a missing
// key.
func (l *Log) Get(key []byte) (value []byte, err error) {
	err = l.view("reading Raft's state", func(tx *bolt.Tx) error {
		if stored := tx.Bucket(raftStable).Get(key); stored != nil {
			value = append([]byte{}, stored...) // stored is gone with tx
		}
		return nil
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
	if err := Guarded(func() error { return l.db.View(read) }); err != nil {
		return fmt.Errorf("grid: %s: %w", doing, err)
	}
	return nil
}

// update makes a change, which is on disk when it returns nil. After the first failure it
// no longer writes.
func (l *Log) update(doing string, change func(*bolt.Tx) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.failed
	}
	began := time.Now()
	err := l.write(doing, change)
	l.writes.Observe(time.Since(began))
	if err != nil {
		l.failed = &DiskError{Dir: l.Dir, Doing: doing, Cause: err}
		close(l.broken)
	}
	return l.failed
}

// Fail has no later change succeed, as after a write that failed, and returns what
// they come to.
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

// NewID draws the name of a log.
func NewID() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
