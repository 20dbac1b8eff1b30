package raftlog

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hashicorp/raft"
)

// Contents describes a log.
type Contents struct {
	Last    uint64 // index of the last entry, 0 = none
	Command bool   // the log has a command, or there is a snapshot
}

// Check reads the whole log, so that Raft, which panics over an entry that it cannot
// read, finds every one. It is short: snapshots cut it.
func (l *Log) Check(snaps raft.SnapshotStore) (c Contents, err error) {
	taken, err := snaps.List()
	if err != nil {
		return c, damaged(l.Dir, SnapshotDir, err)
	}
	var newest uint64
	for _, s := range taken {
		newest = max(newest, s.Index)
	}
	recorded, err := l.GetUint64(snapshotKey)
	if err != nil && !errors.Is(err, errKeyNotFound) {
		return c, damaged(l.Dir, File, err)
	}
	first, err := l.FirstIndex()
	if err != nil {
		return c, damaged(l.Dir, File, err)
	}
	if newest < recorded || first > newest+1 {
		return c, snapshotLost(l.Dir, max(recorded, max(first, 1)-1))
	}
	c.Command = newest > 0
	if c.Last, err = l.LastIndex(); err != nil {
		return c, damaged(l.Dir, File, err)
	}
	if c.Last == 0 {
		return c, nil
	}
	for index := first; index <= c.Last; index++ {
		var entry raft.Log
		if err := l.GetLog(index, &entry); err != nil {
			return c, damaged(l.Dir, File, fmt.Errorf("entry %d: %w", index, err))
		}
		c.Command = c.Command || entry.Type == raft.LogCommand
	}
	return c, nil
}

// DamageAdvice is the remedy for a data directory that cannot be read.
const DamageAdvice = "start with an empty directory as a new member; if a majority of the voters has lost its data, stop the rest " +
	"and run `snowgrid recover` with the directories that can be read"

func snapshotLost(dir string, index uint64) error {
	return fmt.Errorf("%s has no readable snapshot of the first %d entries, which %s no longer holds; put it back if it was moved, else %s",
		filepath.Join(dir, SnapshotDir), index, File, DamageAdvice)
}

func damaged(dir, file string, cause error) error {
	return fmt.Errorf("%s is damaged: %w; %s", filepath.Join(dir, file), cause, DamageAdvice)
}
