package session

import (
	"fmt"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/snowgrid/snowgrid/roster"
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
		t.Errorf("%d addresses are kept besides %d, of %d bytes each", len(m.directory.Owners), len(m.owners.addrs), unsafe.Sizeof(m.owners.of[0]))
	}
}
