package session

import (
	"fmt"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// TestOwnersTakeLittleMemory: a process keeps two bytes for each partition, and each address of
// an owner once; a partition without an owner has none.
func TestOwnersTakeLittleMemory(t *testing.T) {
	m := New(Config{Rand: func(time.Duration) time.Duration { return 0 }})
	addrs := []string{"a:1", "", "b:1"}
	partitions := make([]string, roster.MaxPartitions)
	for i := range partitions {
		partitions[i] = addrs[i%3]
	}
	m.Adopt(Now{}, Directory{Grid: roster.GridID{1}, Version: 5, Owners: slices.Clone(partitions)}, 0, 1)
	for i := range 100 {
		name := fmt.Sprint("s", i)
		if got, want := m.Owner(name), partitions[roster.PartitionOf(name, len(partitions))]; got != want {
			t.Fatalf("%s is at %q, want %q", name, got, want)
		}
	}
	if m.directory.Owners != nil || len(m.owners.addrs) != 3 || unsafe.Sizeof(m.owners.of[0]) != 2 {
		t.Errorf("%d addresses are kept besides %d, of %d bytes each", len(m.directory.Owners), len(m.owners.addrs),
			unsafe.Sizeof(m.owners.of[0]))
	}
}

// TestConfirm: that another member has the same directory makes it as new as one that was
// fetched; renewals that failed at another owner than it names are tried there. Of another grid, or
// of a version that is not known here, it says nothing.
func TestConfirm(t *testing.T) {
	s, h := ready(t)
	grid := s.m.directory.Grid
	for _, c := range []struct {
		stamp Stamp
		want  bool
	}{
		{Stamp{Grid: grid, Version: 5}, true},
		{Stamp{Grid: grid, Version: 4}, true},
		{Stamp{Grid: grid, Version: 6}, false},
		{Stamp{Grid: roster.GridID{7}, Version: 5}, false},
	} {
		s.mono += time.Minute
		h.failures, h.failedAt, h.next = 3, "b", s.mono+time.Hour
		c.stamp.Time = s.tick()
		s.m.Confirm(s.now(), c.stamp, s.mono)
		if got := s.m.KnownSince(s.mono - time.Second); got != c.want {
			t.Errorf("%+v: known since a second ago: %v", c.stamp, got)
		}
		if tried := h.next <= s.mono+RetryAfter; tried != c.want {
			t.Errorf("%+v: the handle is renewed in %v", c.stamp, h.next-s.mono)
		}
	}
	m := New(Config{Rand: func(time.Duration) time.Duration { return 0 }})
	m.Confirm(Now{}, Stamp{}, time.Second)
	if m.KnownSince(0) {
		t.Error("a directory is known that never arrived")
	}
}
