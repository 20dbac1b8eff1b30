package definitions

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"

	"github.com/snowgrid/snowgrid/grid/internal/boltfile"
	"github.com/snowgrid/snowgrid/internal/durable"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

const format = 1

// Create creates the file for a member without one, as a whole or not at all. It is an error if
// there is one.
func Create(dir string, member roster.MemberID) error {
	path := filepath.Join(dir, File)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("definitions: create %s: it exists", path)
	}
	temp := path + ".temp"
	err := os.Remove(temp) // of an earlier attempt
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err := errors.Join(err, boltfile.Guard(func() error { return write(temp, member) })); err != nil {
		return fmt.Errorf("definitions: create %s: %w", path, err)
	}
	if err := durable.Rename(temp, path); err != nil {
		return fmt.Errorf("definitions: create %s: %w", path, err)
	}
	return nil
}

func write(path string, member roster.MemberID) error {
	db, err := bolt.Open(path, 0o600, boltfile.Options())
	if err != nil {
		return err
	}
	return errors.Join(db.Update(func(tx *bolt.Tx) error {
		file, err := tx.CreateBucket(bucketFile)
		if err != nil {
			return err
		}
		_, err = tx.CreateBucket(bucketPartitions)
		return errors.Join(err, file.Put(keyFormat, binary.BigEndian.AppendUint32(nil, format)),
			file.Put(keyMember, []byte(member)))
	}), db.Close())
}

// Open opens a member's file and reads all of it. An error that matches [ErrUnusable] means that it
// is missing, empty, damaged, another member's, or from a newer version; it matches fs.ErrNotExist,
// too, if it is missing. No other process may use the data directory.
func Open(dir string, member roster.MemberID) (*Store, error) {
	s := &Store{path: filepath.Join(dir, File), written: map[roster.PartitionID]bool{}}
	err := boltfile.Check(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = errMissing{err}
	}
	if err != nil {
		return nil, failure.Errorf(ErrUnusable, "%s: %w", s.path, err)
	}
	err = boltfile.Guard(func() (err error) {
		s.db, err = bolt.Open(s.path, 0o600, boltfile.Options())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("definitions: open %s: %w", s.path, err)
	}
	opened, err := os.Stat(s.path)
	if err != nil {
		_ = s.db.Close()
		return nil, fmt.Errorf("definitions: open %s: %w", s.path, err)
	}
	s.update = func(change func(*bolt.Tx) error) error {
		return boltfile.UpdateInPlace(s.db, s.path, opened, change)
	}
	if err := boltfile.Guard(func() error {
		return s.db.View(func(tx *bolt.Tx) error { return s.read(tx, member) })
	}); err != nil {
		_ = s.db.Close()
		return nil, failure.Errorf(ErrUnusable, "%s: %w", s.path, err)
	}
	return s, nil
}

// errMissing means that the file is missing, and matches fs.ErrNotExist.
type errMissing struct{ error }

func (errMissing) Error() string { return "it is missing" }

func (e errMissing) Unwrap() error { return e.error }

func (s *Store) read(tx *bolt.Tx, member roster.MemberID) error {
	file, partitions := tx.Bucket(bucketFile), tx.Bucket(bucketPartitions)
	if file == nil || partitions == nil {
		return boltfile.Damaged("it is not a definition store")
	}
	stored := file.Get(keyFormat)
	if len(stored) != 4 {
		return boltfile.Damaged("it has no format number")
	}
	if err := wire.CheckFormat(int(binary.BigEndian.Uint32(stored)), format); err != nil {
		return err
	}
	if owner := file.Get(keyMember); string(owner) != string(member) {
		return fmt.Errorf("it belongs to member %.40q, and this is member %s", owner, member)
	}
	if grid := file.Get(keyGrid); grid != nil {
		if len(grid) != len(s.grid) {
			return boltfile.Damaged("its grid ID has %d bytes", len(grid))
		}
		copy(s.grid[:], grid)
	}
	count := uint32(0)
	err := partitions.ForEachBucket(func(key []byte) error {
		if len(key) != 2 {
			return boltfile.Damaged("a partition's number has %d bytes", len(key))
		}
		count++
		if _, err := readPartition(key, partitions.Bucket(key), func(Record) {}); err != nil {
			return fmt.Errorf("partition %d: %w", binary.BigEndian.Uint16(key), err)
		}
		return nil
	})
	if stored := countOf(file); err == nil && (count != stored || count > 0 && s.grid.IsZero()) {
		err = boltfile.Damaged("it has %d partitions of grid %s, and %d were stored", count, s.grid, stored)
	}
	return err
}

func countOf(file *bolt.Bucket) uint32 {
	if stored := file.Get(keyCount); len(stored) == 4 {
		return binary.BigEndian.Uint32(stored)
	}
	return 0
}
