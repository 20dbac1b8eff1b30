package roster

import (
	"math/bits"

	"github.com/snowgrid/snowgrid/internal/hash"
)

// PartitionID is the number of a partition, from 0 to the grid's partition count less one.
type PartitionID uint16

// PartitionOf returns the partition of a name in a grid with that many partitions. The
// result depends on nothing else and never changes between releases: every holder and
// every member must look for a name in the same place. A count below 1 gives 0.
func PartitionOf(name string, partitions int) PartitionID {
	if partitions < 1 {
		return 0
	}
	// The high word of the product scales the hash to [0, partitions).
	high, _ := bits.Mul64(hash.Sum64(name), uint64(partitions))
	return PartitionID(high)
}
