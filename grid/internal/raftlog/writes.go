package raftlog

import (
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/snowgrid/snowgrid/internal/measure"
)

// Writes returns how long the writes take, with the sync of each; nil for a memory-only member.
func (l *Log) Writes() *measure.Histogram {
	if l == nil {
		return nil
	}
	return &l.writes
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
