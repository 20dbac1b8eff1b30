// Package raftlogtest has the Raft logs of tests fail as on a disk that breaks.
package raftlogtest

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
)

// ErrDisk is the error of the writes that fail.
var ErrDisk = errors.New("no space left on this test's disk")

// The operations of a log, as its errors name them.
const (
	Append   = "writing the Raft log"
	Truncate = "truncating the Raft log"
	KeepTerm = "writing Raft's state"
)

// FailWrites makes one kind of write fail, after it has reached the file as with
// an fsync that fails. It returns the number of writes tried from the first
// failure on.
func FailWrites(l *raftlog.Log, kind string) *atomic.Int32 {
	var tried atomic.Int32
	l.OnWrite(func(doing string, write func() error) error {
		if doing != kind && tried.Load() == 0 {
			return write()
		}
		tried.Add(1)
		return errors.Join(write(), ErrDisk)
	})
	return &tried
}

// AwaitBroken waits until a write to a log has failed.
func AwaitBroken(t testing.TB, l *raftlog.Log) {
	t.Helper()
	select {
	case <-l.Broken():
	case <-time.After(time.Minute): // a file that has room inside grows late
		t.Fatal("no write has failed")
	}
}
