package definitions

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/snowgrid/snowgrid/grid/internal/boltfile"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
)

// Write brings one partition to a position, with all its definitions or with the changes since the
// previous write, which this process must have made.
type Write struct {
	Partition roster.PartitionID
	Position  Position
	partition.DefinitionChange
}

// Errors from [Store.Commit] that leave the store unchanged, and usable.
var (
	// ErrGap reports that a write does not follow the stored table.
	ErrGap = errors.New("definitions: the change does not follow a write of this process")
	// ErrOtherGrid reports that the store belongs to another grid.
	ErrOtherGrid = errors.New("definitions: the store is another grid's")
)

// commitMax is after how many changed records a transaction takes no further
// partition, which bounds the memory that one needs.
const commitMax = 1 << 15

// Commit performs the first of some writes for a grid, as many as one transaction takes, and
// returns their number: at least one without an error. They are on disk then.
//
// After the first error besides [ErrGap] and [ErrOtherGrid] the store accepts no other write: the
// result of a failed fsync is undetermined, and a later success proves nothing about it.
func (s *Store) Commit(grid roster.GridID, writes []Write) (done int, err error) {
	if d := s.slowed.Load(); d > 0 {
		time.Sleep(time.Duration(d))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil || len(writes) == 0 {
		return 0, s.failed
	}
	if !s.grid.IsZero() && s.grid != grid {
		return 0, fmt.Errorf("%w: %s has grid %s, the write is of %s", ErrOtherGrid, s.path, s.grid, grid)
	}
	err = boltfile.Guard(func() error {
		return s.update(func(tx *bolt.Tx) (err error) {
			done, err = s.writeAll(tx, grid, writes)
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
	for _, w := range writes[:done] {
		s.written[w.Partition] = true
	}
	return done, nil
}

func (s *Store) writeAll(tx *bolt.Tx, grid roster.GridID, writes []Write) (done int, err error) {
	file, partitions := tx.Bucket(bucketFile), tx.Bucket(bucketPartitions)
	if s.grid.IsZero() {
		if err := file.Put(keyGrid, grid[:]); err != nil {
			return 0, err
		}
	}
	count, changes := countOf(file), 0
	for _, w := range writes {
		if changes >= commitMax {
			break
		}
		if w.Whole == nil && !s.written[w.Partition] &&
			!slices.ContainsFunc(writes[:done], func(before Write) bool { return before.Partition == w.Partition }) {
			return 0, fmt.Errorf("%w: partition %d at %v", ErrGap, w.Partition, w.Position)
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

func (w Write) make(partitions *bolt.Bucket) (changes int, err error) {
	key, e := keyOf(w.Partition), editor{}
	b := partitions.Bucket(key)
	if b == nil {
		if b, err = partitions.CreateBucket(key); err != nil {
			return 0, err
		}
		if e.records, err = b.CreateBucket(bucketRecords); err != nil {
			return 0, err
		}
	} else {
		if e.head, err = decodeHead(key, b.Get(keyHead)); err != nil {
			return 0, err
		}
		e.records = b.Bucket(bucketRecords)
	}
	base := w.Base
	if w.Whole != nil {
		base, err = w.Whole.Base, e.replace(w.Whole.Records)
	} else {
		err = e.apply(w.Removed, w.Changed)
	}
	if err != nil {
		return 0, err
	}
	e.head.Position, e.head.base = w.Position, base
	return e.changes, b.Put(keyHead, e.head.encode(key))
}

type editor struct {
	records *bolt.Bucket
	head    head
	changes int
}

func (e *editor) apply(removed []string, changed []Record) error {
	for _, name := range removed {
		key := []byte(name)
		if old := e.records.Get(key); old != nil {
			if err := e.remove(key, old); err != nil {
				return err
			}
		}
	}
	for _, r := range changed {
		key := []byte(r.Ref.Definition.Name())
		if err := e.put(key, e.records.Get(key), encodeRecord(r)); err != nil {
			return err
		}
	}
	return nil
}

// replace makes records the only ones. It walks them next to the stored ones, and writes only the
// difference.
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

func (e *editor) remove(key, old []byte) error {
	e.head.remove(key, old)
	e.changes++
	return e.records.Delete(bytes.Clone(key))
}
