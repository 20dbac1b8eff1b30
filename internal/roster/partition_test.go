package roster

import (
	"fmt"
	"testing"
)

// TestOfGolden pins the result of PartitionOf: another one would make holders and members
// of different releases look for one name in two places.
func TestOfGolden(t *testing.T) {
	for _, g := range []struct {
		name                string
		of271, of1024, of53 PartitionID
	}{
		{"", 253, 959, 49},
		{"orders", 53, 201, 10},
		{"order-1", 77, 292, 15},
		{"order-2", 180, 683, 35},
		{"snøfnugg", 68, 259, 13},
	} {
		if a, b, c := PartitionOf(g.name, 271), PartitionOf(g.name, 1024), PartitionOf(g.name, 53); a != g.of271 ||
			b != g.of1024 || c != g.of53 {
			t.Errorf("{%q, %d, %d, %d},", g.name, a, b, c)
		}
	}
}

// TestOfRange: any count of partitions, and none.
func TestOfRange(t *testing.T) {
	for _, partitions := range []int{-1, 0, 1, 2, 271, MaxPartitions, 1 << 16} {
		for n := range 2000 {
			if id := PartitionOf(fmt.Sprint(n), partitions); int(id) >= max(1, partitions) {
				t.Fatalf("partition %d of %d", id, partitions)
			}
		}
	}
}

// TestOfSpreads: names that differ only at their end fill all partitions about
// evenly.
func TestOfSpreads(t *testing.T) {
	const each = 100
	var names [DefaultPartitions]int
	for n := range each * DefaultPartitions {
		names[PartitionOf(fmt.Sprintf("sequencer-%d", n), DefaultPartitions)]++
	}
	for id, n := range names {
		if n < each/2 || n > each*2 {
			t.Errorf("partition %d has %d names, about %d expected", id, n, each)
		}
	}
}

func ExamplePartitionOf() {
	fmt.Println(PartitionOf("orders", DefaultPartitions), PartitionOf("invoices", DefaultPartitions))
	// Output: 53 18
}

// TestHashGolden pins values: another answer would move every name to another partition.
func TestHashGolden(t *testing.T) {
	for key, want := range map[string]uint64{"": 0xefd01f60ba992926, "orders": 0x32520fbdb4dad5b9} {
		if got := Hash(key); got != want || Hash([]byte(key)) != want {
			t.Errorf("%q: %#x, want %#x", key, got, want)
		}
	}
}
