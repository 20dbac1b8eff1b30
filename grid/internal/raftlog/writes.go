package raftlog

import (
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/snowgrid/snowgrid/internal/bounded"
	"github.com/snowgrid/snowgrid/internal/measure"
)

// Writes returns how long the writes take, with the sync of each; nil for a memory-only member.
func (l *Log) Writes() *measure.Histogram {
	if l == nil {
		return nil
	}
	return &l.writes
}

// hangsAfter is the time after which a write that has not returned counts as one of a disk that hangs: no slow disk
// that an election waits for takes as long.
const hangsAfter = slowestWrite

// Hang returns an error if the write in progress has not returned for so long that its disk hangs; nil for
// a memory-only member.
//
// Raft's server of such a member can do nothing, and a create waits for the disks of all replicas. So the member
// behaves as if a cut kept its messages back, until the write returns: as a leader it sends no entries or heartbeats,
// and no leader gets an answer from it. The others elect another leader, and replace it as owner and as backup.
func (l *Log) Hang() error {
	if l == nil {
		return nil
	}
	if begun := l.present.Load(); begun != nil {
		if since := time.Since(*begun); since >= hangsAfter {
			return fmt.Errorf("a write in data directory %s has not returned for %v: %w", l.Dir, since.Round(time.Second),
				bounded.ErrHangs)
		}
	}
	return nil
}

// OnWrite has f called in place of every later write, which f may do or not: for tests of
// disks that fail.
func (l *Log) OnWrite(f func(doing string, write func() error) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write = func(doing string, change func(*bolt.Tx) error) error {
		return f(doing, func() error { return l.db.Update(change) })
	}
}

// SlowWrites has every later write take so much longer: for tests of slow disks.
func (l *Log) SlowWrites(by time.Duration) { l.slowed.Store(int64(by)) }
