package raftlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hashicorp/raft"
	bolt "go.etcd.io/bbolt"

	"github.com/snowgrid/snowgrid/grid/internal/boltfile"
)

// Contents describes a log.
type Contents struct {
	Last    uint64 // the last entry's index, 0 = none
	Command bool   // the log has a command, or there is a snapshot
}

// Check verifies that the newest snapshot and the entries after it are complete and readable: Raft
// panics over an unreadable entry, and falls back to an older snapshot over an unreadable one. [Open]
// has read the whole log.
func (s Stores) Check() (c Contents, err error) {
	l := s.Disk
	record, err := l.snapshot()
	if err != nil {
		return c, damaged(l.Dir, File, err)
	}
	if err := s.files.verify(record); err != nil {
		return c, err
	}
	c.Command = record.index > 0
	next := record.index + 1 // entries up to the snapshot may be left from before it
	err = l.each(func(index uint64, entry *raft.Log) error {
		if index >= next {
			if index > next {
				return errGap{index}
			}
			next++
		}
		c.Last = index
		c.Command = c.Command || entry.Type == raft.LogCommand
		return nil
	})
	if gap, is := errors.AsType[errGap](err); is && next == record.index+1 {
		return c, snapshotLost(l.Dir, gap.before-1)
	}
	if err != nil {
		return c, damaged(l.Dir, File, err)
	}
	return c, nil
}

type errGap struct{ before uint64 }

func (e errGap) Error() string { return fmt.Sprintf("the entry before entry %d is missing", e.before) }

func (errGap) Unwrap() error { return boltfile.ErrDamaged }

func (l *Log) each(take func(index uint64, entry *raft.Log) error) error {
	return l.view("reading the Raft log", func(tx *bolt.Tx) error {
		return tx.Bucket(raftEntries).ForEach(func(key, value []byte) error {
			if len(key) != 8 {
				return boltfile.Damaged("an index has %d bytes", len(key))
			}
			index := binary.BigEndian.Uint64(key)
			var entry raft.Log
			if err := decodeEntry(index, value, &entry); err != nil {
				return fmt.Errorf("entry %d: %w", index, err)
			}
			return take(index, &entry)
		})
	})
}

// DamageAdvice is the remedy for a data directory that cannot be read.
const DamageAdvice = "start with an empty directory as a new member; if a majority of the voters has lost its data, " +
	"stop the rest " +
	"and run `snowgrid recover` with the directories that can be read, and with --lost for the members of the others"

func snapshotLost(dir string, index uint64) error {
	return fmt.Errorf(
		"%s has no readable snapshot of the first %d entries, which %s no longer holds; put it back if it was moved, else %s",
		filepath.Join(dir, SnapshotDir), index, File, DamageAdvice)
}

func damaged(dir, file string, cause error) error {
	what := "cannot be read: "
	if errors.Is(cause, boltfile.ErrDamaged) { // the cause has the same text
		what = ""
	}
	return fmt.Errorf("%s: %s%w; %s", filepath.Join(dir, file), what, cause, DamageAdvice)
}
