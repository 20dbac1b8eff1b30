package raftlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
)

type raftStore interface {
	raft.LogStore
	raft.StableStore
	Close() error
}

func openLog(t *testing.T, dir string) raftStore {
	t.Helper()
	l, err := raftlog.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func entry(index uint64) *raft.Log {
	return &raft.Log{
		Index:      index,
		Term:       index/10 + 1,
		Type:       raft.LogConfiguration,
		Data:       fmt.Appendf(nil, "data %d", index),
		Extensions: fmt.Appendf(nil, "extension %d", index),
		AppendedAt: time.Date(2026, 3, 4, 5, 6, 7, 89, time.UTC),
	}
}

func entries(first, last uint64) (logs []*raft.Log) {
	for i := first; i <= last; i++ {
		logs = append(logs, entry(i))
	}
	return logs
}

// expectRange fails unless exactly the entries from first to last are stored;
// 0, 0 is none.
func expectRange(t *testing.T, l raft.LogStore, first, last uint64) {
	t.Helper()
	gotFirst, err1 := l.FirstIndex()
	gotLast, err2 := l.LastIndex()
	if err1 != nil || err2 != nil || gotFirst != first || gotLast != last {
		t.Fatalf("range %d to %d (%v, %v), want %d to %d", gotFirst, gotLast, err1, err2, first, last)
	}
	for i := uint64(0); i <= last+2; i++ {
		var got raft.Log
		err := l.GetLog(i, &got)
		if i >= first && i <= last && i > 0 {
			if err != nil || !reflect.DeepEqual(&got, entry(i)) {
				t.Fatalf("entry %d: %+v, %v", i, got, err)
			}
		} else if !errors.Is(err, raft.ErrLogNotFound) {
			t.Fatalf("entry %d: %v, want raft.ErrLogNotFound", i, err)
		}
	}
}

func TestRaftLogEntries(t *testing.T) {
	dir := t.TempDir()
	l := openLog(t, dir)
	expectRange(t, l, 0, 0)
	steps := []struct {
		name        string
		do          func() error
		first, last uint64
	}{
		{"one", func() error { return l.StoreLog(entry(1)) }, 1, 1},
		{"many", func() error { return l.StoreLogs(entries(2, 300)) }, 1, 300},
		{"none", func() error { return l.StoreLogs(nil) }, 1, 300},
		{"compaction", func() error { return l.DeleteRange(1, 255) }, 256, 300},
		{"conflict", func() error { return l.DeleteRange(290, 300) }, 256, 289},
		{"append after it", func() error { return l.StoreLogs(entries(290, 291)) }, 256, 291},
		{"beyond the end", func() error { return l.DeleteRange(292, 1<<63) }, 256, 291},
		{"backwards", func() error { return l.DeleteRange(280, 270) }, 256, 291},
		{"overlapping the start", func() error { return l.DeleteRange(0, 260) }, 261, 291},
		{"all", func() error { return l.DeleteRange(1, 291) }, 0, 0},
		{"a gap, as after a snapshot", func() error { return l.StoreLog(entry(1000)) }, 1000, 1000},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		t.Log(step.name)
		expectRange(t, l, step.first, step.last)
		_ = l.Close()
		l = openLog(t, dir)
		expectRange(t, l, step.first, step.last)
	}
}

func TestRaftLogOverwrites(t *testing.T) {
	l := openLog(t, t.TempDir())
	other := entry(5)
	other.Term, other.Data, other.Extensions, other.AppendedAt = 99, nil, nil, time.Time{}
	_ = l.StoreLogs(entries(1, 9))
	if err := l.StoreLog(other); err != nil {
		t.Fatal(err)
	}
	got := *entry(1) // must be overwritten
	if err := l.GetLog(5, &got); err != nil || !reflect.DeepEqual(&got, other) {
		t.Errorf("got %+v, %v, want %+v", got, err, other)
	}
	if !got.AppendedAt.IsZero() {
		t.Error("a time that was not set is set")
	}
}

func TestRaftLogStoresAllOrNothing(t *testing.T) {
	l := openLog(t, t.TempDir())
	_ = l.StoreLogs(entries(1, 3))
	func() {
		defer func() { _ = recover() }()
		_ = l.StoreLogs([]*raft.Log{entry(4), entry(5), nil})
	}()
	expectRange(t, l, 1, 3)
}

func TestRaftLogStable(t *testing.T) {
	dir := t.TempDir()
	l := openLog(t, dir)
	_, err1 := l.Get([]byte("k"))
	_, err2 := l.GetUint64([]byte("n"))
	for _, err := range []error{err1, err2} {
		// Raft compares the text.
		if !errors.Is(err, raftlog.ErrKeyNotFound) || err.Error() != "not found" {
			t.Errorf("a missing key: %v", err)
		}
	}
	value := []byte("value")
	if err := errors.Join(l.Set([]byte("k"), value), l.SetUint64([]byte("n"), 1<<63+7),
		l.Set([]byte("empty"), nil)); err != nil {
		t.Fatal(err)
	}
	value[0] = 'X'
	for range 2 {
		k, err1 := l.Get([]byte("k"))
		n, err2 := l.GetUint64([]byte("n"))
		empty, err3 := l.Get([]byte("empty"))
		if string(k) != "value" || n != 1<<63+7 || len(empty) != 0 || errors.Join(err1, err2, err3) != nil {
			t.Errorf("got %q, %d, %q, %v, %v, %v", k, n, empty, err1, err2, err3)
		}
		_ = l.Close()
		l = openLog(t, dir)
	}
	if _, err := l.GetUint64([]byte("k")); err == nil || errors.Is(err, raftlog.ErrKeyNotFound) {
		t.Errorf("a number that is none: %v", err)
	}
}

func TestRaftLogIsForOneProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the wait for the lock is virtual
		dir := filepath.Join(t.TempDir(), "not", "yet", "there")
		l := openLog(t, dir)
		_, err := raftlog.Open(dir)
		if err == nil || !strings.Contains(err.Error(), "data directory "+dir+" is used by another process") {
			t.Fatalf("opened twice: %v", err)
		}
		_ = l.Close()
		_ = openLog(t, dir).Close()
	})
}

func TestRaftLogAfterClose(t *testing.T) {
	l := openLog(t, t.TempDir())
	_ = l.Close()
	if err := l.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
	if err := l.StoreLog(entry(1)); err == nil {
		t.Error("stored after Close")
	}
	if err := l.GetLog(1, new(raft.Log)); err == nil || errors.Is(err, raft.ErrLogNotFound) {
		t.Errorf("read after Close: %v", err)
	}
}

func TestRaftLogNamesAFileItCannotRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "raft.db"), bytes.Repeat([]byte("garbage"), 10000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := raftlog.Open(dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("opened garbage: %v", err)
	}
}

func FuzzDecodeEntry(f *testing.F) {
	f.Add(raftlog.EncodeEntry(entry(7)))
	f.Add(raftlog.EncodeEntry(&raft.Log{}))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, b []byte) {
		var l raft.Log
		if raftlog.DecodeEntry(7, b, &l) == nil && !bytes.Equal(raftlog.EncodeEntry(&l), b) {
			t.Errorf("%x is accepted as %x", b, raftlog.EncodeEntry(&l))
		}
	})
}
