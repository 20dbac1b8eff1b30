package roster

import "math/bits"

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
	high, _ := bits.Mul64(Hash(name), uint64(partitions))
	return PartitionID(high)
}

// Hash maps names to partitions and members to their places on the ring: FNV-1a over 64 bits, followed
// by the finalizer of MurmurHash3, since FNV alone barely moves its high bits for short keys that
// differ at the end. It never changes: every process must find the same partition for a name.
func Hash[T string | []byte](key T) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * 0x100000001b3
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
