package definitions

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Write brings one partition to a position: the whole table, or what follows the
// position that is stored.
type Write struct {
	Partition partition.ID
	Position  Position
	Base      sequencer.Tick
	// Whole says that Records are all there are, with names ascending. Otherwise
	// Gone are removed first, and Records are what changed since Since.
	Whole   bool
	Records []Record
	Since   Position
	Gone    []string
}

// Errors of [Store.Commit] that leave the store as it was, and usable.
var (
	// ErrGap says that a write does not follow what is stored.
	ErrGap = errors.New("definitions: the write does not follow what is stored")
	// ErrOtherGrid says that the store has the definitions of another grid.
	ErrOtherGrid = errors.New("definitions: the store is another grid's")
)

// commitMax is after how many changed records a transaction takes no further
// partition, which bounds the memory that one needs.
const commitMax = 1 << 15

// Commit makes the first of some writes of a grid, as many as one transaction takes,
// and returns how many those are: at least one without an error. They are on disk
// then.
//
// After the first error besides [ErrGap] and [ErrOtherGrid] the store takes no other
// write: what an fsync that failed has left behind is unknown, and one that succeeds
// later proves nothing about it.
func (s *Store) Commit(grid partition.GridID, writes []Write) (done int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil || len(writes) == 0 {
		return 0, s.failed
	}
	if !s.grid.IsZero() && s.grid != grid {
		return 0, fmt.Errorf("%w: %s has grid %s, the write is of %s", ErrOtherGrid, s.path, s.grid, grid)
	}
	err = guard(func() error {
		return s.update(func(tx *bolt.Tx) (err error) {
			done, err = writeAll(tx, grid, s.grid.IsZero(), writes)
			return err
		})
	})
	switch {
	case errors.Is(err, ErrGap):
		return 0, fmt.Errorf("%s: %w", s.path, err)
	case err != nil:
		s.failed = fmt.Errorf("definitions: write %s: %w", s.path, err)
		return 0, s.failed
	}
	s.grid = grid
	return done, nil
}

// writeAll makes writes until the transaction is large.
func writeAll(tx *bolt.Tx, grid partition.GridID, first bool, writes []Write) (done int, err error) {
	file, partitions := tx.Bucket(bucketFile), tx.Bucket(bucketPartitions)
	if first {
		if err := file.Put(keyGrid, grid[:]); err != nil {
			return 0, err
		}
	}
	count, changes := countOf(file), 0
	for _, w := range writes {
		if changes >= commitMax {
			break
		}
		if partitions.Bucket(keyOf(w.Partition)) == nil {
			count++
		}
		n, err := w.make(partitions)
		if err != nil {
			return 0, fmt.Errorf("partition %d at %v: %w", w.Partition, w.Position, err)
		}
		changes += n
		done++
	}
	if count == countOf(file) {
		return done, nil
	}
	return done, file.Put(keyCount, binary.BigEndian.AppendUint32(nil, count))
}

// make makes one write and returns how many records it changed.
func (w Write) make(partitions *bolt.Bucket) (changes int, err error) {
	key, e := keyOf(w.Partition), editor{}
	b := partitions.Bucket(key)
	switch {
	case b == nil && !w.Whole:
		return 0, fmt.Errorf("%w: nothing is stored", ErrGap)
	case b == nil:
		if b, err = partitions.CreateBucket(key); err != nil {
			return 0, err
		}
		if e.records, err = b.CreateBucket(bucketRecords); err != nil {
			return 0, err
		}
	default:
		if e.head, err = decodeHead(key, b.Get(keyHead)); err != nil {
			return 0, err
		}
		if !w.Whole && e.head.Position != w.Since {
			return 0, fmt.Errorf("%w: %v is stored, it follows %v", ErrGap, e.head.Position, w.Since)
		}
		e.records = b.Bucket(bucketRecords)
	}
	if w.Whole {
		err = e.replace(w.Records)
	} else {
		err = e.apply(w.Gone, w.Records)
	}
	if err != nil {
		return 0, err
	}
	e.head.Position, e.head.base = w.Position, w.Base
	return e.changes, b.Put(keyHead, e.head.encode(key))
}

// editor changes the records of a partition and keeps count of them.
type editor struct {
	records *bolt.Bucket
	head    head
	changes int
}

// apply removes names and puts records.
func (e *editor) apply(gone []string, records []Record) error {
	for _, name := range gone {
		key := []byte(name)
		if old := e.records.Get(key); old != nil {
			if err := e.remove(key, old); err != nil {
				return err
			}
		}
	}
	for _, r := range records {
		key := []byte(r.Ref.Definition.Name())
		if err := e.put(key, e.records.Get(key), encodeRecord(r)); err != nil {
			return err
		}
	}
	return nil
}

// replace makes records all there are. It walks them next to those that are stored,
// and writes only the difference.
func (e *editor) replace(records []Record) error {
	type change struct{ key, old, value []byte }
	var changes []change // made after the walk: a change moves the cursor
	cursor := e.records.Cursor()
	key, old := cursor.First()
	var last []byte
	for _, r := range records {
		name := []byte(r.Ref.Definition.Name())
		if last != nil && bytes.Compare(last, name) >= 0 {
			return fmt.Errorf("definitions: the names %q and %q do not ascend", last, name)
		}
		last = name
		for ; key != nil && bytes.Compare(key, name) < 0; key, old = cursor.Next() {
			changes = append(changes, change{key: key, old: old})
		}
		value := encodeRecord(r)
		if !bytes.Equal(key, name) {
			changes = append(changes, change{key: name, value: value})
			continue
		}
		if !bytes.Equal(old, value) {
			changes = append(changes, change{key: name, old: old, value: value})
		}
		key, old = cursor.Next()
	}
	for ; key != nil; key, old = cursor.Next() {
		changes = append(changes, change{key: key, old: old})
	}
	for _, c := range changes {
		var err error
		if c.value == nil {
			err = e.remove(c.key, c.old)
		} else {
			err = e.put(c.key, c.old, c.value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// put stores a record in place of old, which is nil for none.
func (e *editor) put(key, old, value []byte) error {
	if bytes.Equal(old, value) {
		return nil
	}
	if old != nil {
		e.head.remove(key, old)
	}
	e.head.add(key, value)
	e.changes++
	return e.records.Put(key, value)
}

// remove removes a record.
func (e *editor) remove(key, old []byte) error {
	e.head.remove(key, old)
	e.changes++
	return e.records.Delete(bytes.Clone(key))
}
