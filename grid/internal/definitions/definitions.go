// Package definitions keeps, in one file in a data directory, the sequencer names that its member
// has to remember: their definitions, their lives, and the tombstones of destroyed ones. Logical
// nodes and grants are not stored.
//
// Each partition is stored as the table at one position. [Store.Commit] brings any number of
// partitions to later ones in one transaction, which is on disk when it returns; only differences
// to the stored tables are written. No write follows a failed one: see [Store.Commit].
//
// The file is trusted only as far as it proves itself. [Open] reads all of it: each page, each
// record, and the sum over each partition's records. A file with other content than was stored is
// an error that matches [ErrUnusable]; other members' copies then have to suffice.
package definitions

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/grid/internal/boltfile"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
)

// File is the file's name in the data directory.
const File = "definitions.db"

// ErrUnusable is matched by every [Open] error about a missing file or its content: this member's
// definitions are lost.
var ErrUnusable = errors.New("definitions: unusable")

// Position is a stored table's position.
type Position = backup.Position

// Record is one name in a partition.
type Record = partition.DefinitionRecord

// Table is one partition's stored part.
type Table struct {
	Position Position
	partition.Definitions
}

// The file's buckets: the identity, and one for each partition, by its number, with its
// head and a bucket for its records, by name.
var (
	bucketFile       = []byte("file")
	bucketPartitions = []byte("partitions")
	bucketRecords    = []byte("records")
	keyHead          = []byte("head")
	keyFormat        = []byte("format")
	keyMember        = []byte("member")
	keyGrid          = []byte("grid")
	keyCount         = []byte("count") // partitions
)

// Store is an open file. Its methods are safe for concurrent use.
type Store struct {
	path string
	db   *bolt.DB

	mu      sync.Mutex // held during a write
	grid    roster.GridID
	written map[roster.PartitionID]bool // by this process: changes may follow
	failed  error
	// update makes a change in one transaction; tests replace it.
	update func(func(tx *bolt.Tx) error) error
	slowed atomic.Int64 // see SlowWrites
}

// SlowWrites has every later commit take so much longer: for tests of slow disks.
func (s *Store) SlowWrites(by time.Duration) { s.slowed.Store(int64(by)) }

// Close closes the file. It may be called more than once.
func (s *Store) Close() error {
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("definitions: close %s: %w", s.path, err)
	}
	return nil
}

// Grid returns the grid that the definitions belong to, zero while nothing is stored.
func (s *Store) Grid() roster.GridID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grid
}

// Adopt assigns the definitions to another grid, formed by a recovery from this one's members. It is
// on disk on return; an empty store fits any grid.
func (s *Store) Adopt(grid roster.GridID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.grid.IsZero() || s.grid == grid {
		return nil
	}
	err := boltfile.Guard(func() error {
		return s.update(func(tx *bolt.Tx) error { return tx.Bucket(bucketFile).Put(keyGrid, grid[:]) })
	})
	if err != nil {
		return fmt.Errorf("definitions: adopt %s for grid %s: %w", s.path, grid, err)
	}
	s.grid = grid
	return nil
}

// Position returns the position of a partition's stored table, and false without one.
func (s *Store) Position(id roster.PartitionID) (Position, bool, error) {
	return view(s, id, func(b *bolt.Bucket) (Position, error) {
		h, err := decodeHead(keyOf(id), b.Get(keyHead))
		return h.Position, err
	})
}

// Load returns a partition's stored table, and false without one.
func (s *Store) Load(id roster.PartitionID) (Table, bool, error) {
	return view(s, id, func(b *bolt.Bucket) (t Table, err error) {
		h, err := readPartition(keyOf(id), b, func(r Record) { t.Records = append(t.Records, r) })
		t.Position, t.Base = h.Position, h.base
		return t, err
	})
}

func view[T any](s *Store, id roster.PartitionID, read func(*bolt.Bucket) (T, error)) (out T, found bool, err error) {
	err = boltfile.Guard(func() error {
		return s.db.View(func(tx *bolt.Tx) (err error) {
			if b := tx.Bucket(bucketPartitions).Bucket(keyOf(id)); b != nil {
				found = true
				out, err = read(b)
			}
			return err
		})
	})
	if err != nil {
		var none T
		return none, false, fmt.Errorf("definitions: read partition %d from %s: %w", id, s.path, err)
	}
	return out, found, nil
}

// readPartition calls take for each record in a partition, names ascending, and verifies them
// against the partition's head.
func readPartition(key []byte, b *bolt.Bucket, take func(r Record)) (head, error) {
	h, err := decodeHead(key, b.Get(keyHead))
	if err != nil {
		return h, err
	}
	records := b.Bucket(bucketRecords)
	if records == nil {
		return h, boltfile.Damaged("it has no records' bucket")
	}
	var real head
	err = records.ForEach(func(name, value []byte) error {
		r, err := decodeRecord(name, value)
		if err != nil {
			return err
		}
		real.add(name, value)
		take(r)
		return nil
	})
	if err == nil && (real.count != h.count || real.sum != h.sum) {
		err = boltfile.Damaged("its %d records are not the %d that were stored", real.count, h.count)
	}
	return h, err
}

func keyOf(id roster.PartitionID) []byte { return []byte{byte(id >> 8), byte(id)} }
