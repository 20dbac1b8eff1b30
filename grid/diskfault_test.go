package grid_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
)

var errDisk = errors.New("no space left on this test's disk")

// The operations of a log, as its errors name them.
const (
	appends   = "writing the Raft log"
	truncates = "truncating the Raft log"
	keepsTerm = "writing Raft's state"
)

// failWrites makes one kind of write fail, after it has reached the file as with
// an fsync that fails. It returns the number of writes tried from the first
// failure on.
func failWrites(l *raftlog.Log, kind string) *atomic.Int32 {
	var tried atomic.Int32
	l.OnWrite(func(doing string, write func() error) error {
		if doing != kind && tried.Load() == 0 {
			return write()
		}
		tried.Add(1)
		return errors.Join(write(), errDisk)
	})
	return &tried
}

// breaks waits until a write to a log has failed.
func breaks(t *testing.T, l *raftlog.Log) {
	t.Helper()
	select {
	case <-l.Broken():
	case <-time.After(time.Minute): // a file that has room inside grows late
		t.Fatal("no write has failed")
	}
}
