package raftlog_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
	bolt "go.etcd.io/bbolt"

	"github.com/snowgrid/snowgrid/grid/internal/boltfile"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
)

// filledLog returns the directory of a closed log with entries first to last, a term and a vote.
func filledLog(t *testing.T, first, last uint64) string {
	t.Helper()
	dir := t.TempDir()
	l := openLog(t, dir)
	err := errors.Join(l.StoreLogs(entries(1, last)), l.DeleteRange(1, first-1), l.SetUint64([]byte("CurrentTerm"), 7),
		l.Set([]byte("LastVoteCand"), []byte("m1")), l.Close())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// edited changes a log as this version never would.
func edited(t *testing.T, dir string, change func(tx *bolt.Tx) error) {
	t.Helper()
	db, err := bolt.Open(filepath.Join(dir, raftlog.File), 0o600, boltfile.Options())
	if err == nil {
		err = errors.Join(db.Update(change), db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// refused fails unless a log is refused as damaged, with the file and the remedy.
func refused(t *testing.T, dir string) {
	t.Helper()
	l, err := raftlog.Open(dir)
	if err == nil {
		_ = l.Close()
	}
	if !errors.Is(err, boltfile.ErrDamaged) || !strings.Contains(err.Error(), filepath.Join(dir, raftlog.File)) ||
		!strings.Contains(err.Error(), "empty directory") {
		t.Errorf("open: %v, want ErrDamaged, the file and the remedy", err)
	}
}

// TestLostKeyOfTheLogIsDamage: a key that is missing, that is back, or that has an earlier value
// is found, though every page and every value is whole.
func TestLostKeyOfTheLogIsDamage(t *testing.T) {
	key := func(index uint64) []byte { return binary.BigEndian.AppendUint64(nil, index) }
	for name, harm := range map[string]func(tx *bolt.Tx) error{
		"last entry lost": func(tx *bolt.Tx) error { return tx.Bucket([]byte("entries")).Delete(key(40)) },
		"first entry back": func(tx *bolt.Tx) error {
			return tx.Bucket([]byte("entries")).Put(key(9), raftlog.EncodeEntry(entry(9)))
		},
		"vote lost":     func(tx *bolt.Tx) error { return tx.Bucket([]byte("stable")).Delete([]byte("LastVoteCand")) },
		"name lost":     func(tx *bolt.Tx) error { return tx.Bucket([]byte("about")).Delete([]byte("id")) },
		"seal lost":     func(tx *bolt.Tx) error { return tx.Bucket([]byte("about")).Delete([]byte("seal")) },
		"a bucket lost": func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte("stable")) },
		"all buckets lost": func(tx *bolt.Tx) error {
			return errors.Join(tx.DeleteBucket([]byte("stable")), tx.DeleteBucket([]byte("about")),
				tx.DeleteBucket([]byte("entries")))
		},
		"other entry": func(tx *bolt.Tx) error {
			other := entry(20)
			other.Data = []byte("data 21")
			return tx.Bucket([]byte("entries")).Put(key(20), raftlog.EncodeEntry(other))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filledLog(t, 10, 40)
			edited(t, dir, harm)
			refused(t, dir)
		})
	}
}

// TestForgottenTransactionOfTheLogIsDamage: with the newer description unreadable bbolt takes the
// older one, and so the log without its last write.
func TestForgottenTransactionOfTheLogIsDamage(t *testing.T) {
	for _, harm := range []func(page []byte){
		func(page []byte) { clear(page[:512]) },
		func(page []byte) { page[40] ^= 1 },
	} {
		dir := filledLog(t, 1, 10)
		path := filepath.Join(dir, raftlog.File)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		page := 0
		if txid := func(at int) uint64 { return binary.NativeEndian.Uint64(data[at+64:]) }; txid(4096) > txid(0) {
			page = 4096
		}
		harm(data[page : page+4096])
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, dir)
	}
}

// TestOpenFindsEveryDamageOfTheLog: with any bit of the file changed, or with its end missing,
// the log is refused or is exactly the stored one.
func TestOpenFindsEveryDamageOfTheLog(t *testing.T) {
	dir := filledLog(t, 10, 300)
	path := filepath.Join(dir, raftlog.File)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(3, 4))
	refusals, rounds := 0, 300
	for range rounds {
		harmed := bytes.Clone(whole)
		i := random.IntN(len(harmed))
		what := fmt.Sprintf("bit of byte %d", i)
		switch random.IntN(3) {
		case 0:
			harmed[i/4096*4096+i%200] ^= 1 << random.IntN(8) // where pages, elements and offsets are
		case 1:
			harmed[i] ^= 1 << random.IntN(8)
		default:
			harmed, what = harmed[:i], fmt.Sprintf("cut at %d", i)
		}
		if err := os.WriteFile(path, harmed, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := raftlog.Open(dir)
		if err != nil {
			if !errors.Is(err, boltfile.ErrDamaged) || !strings.Contains(err.Error(), path) {
				t.Fatalf("%s: %v, want ErrDamaged and the file", what, err)
			}
			refusals++
			continue
		}
		for index := uint64(10); index <= 300; index++ {
			var got raft.Log
			if err := l.GetLog(index, &got); err != nil || !reflect.DeepEqual(&got, entry(index)) {
				t.Fatalf("%s: entry %d is %+v, %v", what, index, got, err)
			}
		}
		first, _ := l.FirstIndex()
		last, _ := l.LastIndex()
		term, _ := l.GetUint64([]byte("CurrentTerm"))
		vote, _ := l.Get([]byte("LastVoteCand"))
		if first != 10 || last != 300 || term != 7 || string(vote) != "m1" {
			t.Fatalf("%s: entries %d to %d, term %d, vote %q", what, first, last, term, vote)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if refusals < rounds/3 || refusals == rounds {
		t.Errorf("%d of %d damaged logs were refused", refusals, rounds)
	}
}

// TestEntryWithAnyBitFlippedIsRefused: also as the entry of another index.
func TestEntryWithAnyBitFlippedIsRefused(t *testing.T) {
	stored := raftlog.EncodeEntry(entry(7))
	var read raft.Log
	for i := range 8 * len(stored) {
		harmed := bytes.Clone(stored)
		harmed[i/8] ^= 1 << (i % 8)
		if err := raftlog.DecodeEntry(7, harmed, &read); !errors.Is(err, raftlog.ErrBadEntry) {
			t.Fatalf("bit %d: %+v, %v", i, read, err)
		}
	}
	if err := raftlog.DecodeEntry(8, stored, &read); !errors.Is(err, raftlog.ErrBadEntry) {
		t.Errorf("as entry 8: %+v, %v", read, err)
	}
}

// TestLogContinuesAboveAnInstalledSnapshot: entries from before a snapshot of another member,
// which Raft has not deleted yet, are not damage, and a gap above the snapshot is.
func TestLogContinuesAboveAnInstalledSnapshot(t *testing.T) {
	for _, c := range []struct {
		what        string
		first, last uint64
		refused     bool
	}{
		{"no entries above", 0, 0, false},
		{"entries above", 51, 55, false},
		{"a gap above", 52, 55, true},
	} {
		dir := t.TempDir()
		s, err := raftlog.OpenStores(dir, os.Stderr)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Logs.StoreLogs(entries(1, 10)); err != nil {
			t.Fatal(err)
		}
		takeSnapshot(t, s, 50, "state")
		if c.last > 0 {
			if err := s.Logs.StoreLogs(entries(c.first, c.last)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Check(); (err != nil) != c.refused {
			t.Errorf("%s: %v", c.what, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// takeSnapshot stores a snapshot.
func takeSnapshot(t *testing.T, s raftlog.Stores, index uint64, state string) raft.SnapshotSink {
	t.Helper()
	servers := raft.Configuration{Servers: []raft.Server{{ID: "m1", Address: "m1:1"}}}
	_, trans := raft.NewInmemTransport("m1")
	sink, err := s.Snaps.Create(1, index, 3, servers, 1, trans)
	if err == nil {
		_, err = sink.Write([]byte(state))
	}
	if err == nil {
		err = sink.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return sink
}

// TestSnapshotWithAnyByteChangedIsRefused: the content of the newest snapshot, and its
// description, which has the servers, the index and the term.
func TestSnapshotWithAnyByteChangedIsRefused(t *testing.T) {
	dir := t.TempDir()
	s, err := raftlog.OpenStores(dir, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	takeSnapshot(t, s, 40, "earlier")
	sink := takeSnapshot(t, s, 50, "a roster")
	for _, name := range []string{"meta.json", "state.bin"} {
		path := filepath.Join(dir, "snapshots", s.Disk.ID, "snapshots", sink.ID(), name)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		try := func(what string, data []byte) {
			t.Helper()
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Check(); err == nil || !strings.Contains(err.Error(), filepath.Dir(path)) ||
				!strings.Contains(err.Error(), "snowgrid recover") {
				t.Errorf("%s, %s: %v, want an error with the file and the remedy", name, what, err)
			}
		}
		for i := range whole {
			harmed := bytes.Clone(whole)
			harmed[i] ^= 1 << (i % 8)
			try(fmt.Sprintf("byte %d changed", i), harmed)
			try(fmt.Sprintf("cut at %d", i), whole[:i])
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Check(); err != nil {
		t.Errorf("whole again: %v", err)
	}
}

// TestSnapshotThatIsNotRecordedDoesNotCount: a process that ended between a snapshot and its
// record has acknowledged nothing of it, and continues from the one before.
func TestSnapshotThatIsNotRecordedDoesNotCount(t *testing.T) {
	dir := t.TempDir()
	s, err := raftlog.OpenStores(dir, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	recorded := takeSnapshot(t, s, 40, "recorded")
	record, err := s.Stable.Get([]byte("newest snapshot"))
	if err != nil {
		t.Fatal(err)
	}
	for _, index := range []uint64{50, 45, 60} {
		takeSnapshot(t, s, index, "not recorded")
		if err := s.Stable.Set([]byte("newest snapshot"), record); err != nil {
			t.Fatal(err)
		}
		listed, err := s.Snaps.List()
		if err != nil || len(listed) != 1 || listed[0].ID != recorded.ID() {
			t.Fatalf("listed %+v, %v; want %s", listed, err, recorded.ID())
		}
		if _, err := s.Check(); err != nil {
			t.Fatal(err)
		}
	}
	if next := takeSnapshot(t, s, 55, "recorded"); next.ID() == recorded.ID() {
		t.Error("two snapshots have one name")
	} else if listed, err := s.Snaps.List(); err != nil || len(listed) != 1 || listed[0].ID != next.ID() {
		t.Errorf("listed %+v, %v; want %s", listed, err, next.ID())
	}
}
