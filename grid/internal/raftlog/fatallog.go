package raftlog

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/hashicorp/raft"
)

// DiskError reports that a data directory failed a write, and accepts no other from this process.
type DiskError struct {
	Dir, Doing string
	Cause      error
}

// Error returns the failed operation, the directory, the cause and the remedy.
func (e *DiskError) Error() string {
	return fmt.Sprintf("grid: the disk of data directory %s failed while %s: %v; %s", e.Dir, e.Doing, e.Cause, DiskAdvice)
}

// Unwrap returns the cause.
func (e *DiskError) Unwrap() error { return e.Cause }

// DiskAdvice is the remedy for a disk that has failed.
const DiskAdvice = "free space, replace the disk or put the directory back, then restart this process"

// fatalLog is the log passed to Raft's goroutines. A goroutine ends at its failed write, as if the
// process had died at that point: it reports no success, and Raft neither panics over an unwritten
// term nor continues from a state that is not on disk. Its deferred functions still run, so that Raft
// can be shut down.
type fatalLog struct{ *Log }

// GetLog implements raft.LogStore. Raft panics over an entry that it cannot read.
func (l fatalLog) GetLog(index uint64, entry *raft.Log) error {
	err := l.Log.GetLog(index, entry)
	if err == nil || errors.Is(err, raft.ErrLogNotFound) {
		return err
	}
	return dieOf(l.Fail("reading the Raft log", err))
}

func (l fatalLog) StoreLog(entry *raft.Log) error { return dieOf(l.Log.StoreLog(entry)) }

func (l fatalLog) StoreLogs(entries []*raft.Log) error { return dieOf(l.Log.StoreLogs(entries)) }

func (l fatalLog) DeleteRange(first, last uint64) error {
	return dieOf(l.Log.DeleteRange(first, last))
}

func (l fatalLog) Set(key, value []byte) error { return dieOf(l.Log.Set(key, value)) }

func (l fatalLog) SetUint64(key []byte, value uint64) error {
	return dieOf(l.Log.SetUint64(key, value))
}

func dieOf(err error) error {
	if err != nil {
		runtime.Goexit()
	}
	return nil
}
