package roster

import (
	"math/bits"

	"github.com/snowgrid/snowgrid/internal/hash"
)

// PartitionID is a partition number, from 0 to the partition count minus one.
type PartitionID uint16

// PartitionOf maps a name to its partition in a grid with this partition count. The result depends
// on nothing else and never changes between releases: every holder and every member must look for a
// name in the same place. A count below 1 gives 0.
func PartitionOf(name string, partitions int) PartitionID {
	if partitions < 1 {
		return 0
	}
	// The high word of the product scales the hash to [0, partitions).
	high, _ := bits.Mul64(hash.Sum64(name), uint64(partitions))
	return PartitionID(high)
}
