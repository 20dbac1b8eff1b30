// Package hash has the one hash function by which names find their partitions and members
// their places on the ring.
package hash

// Sum64 returns FNV-1a over 64 bits, followed by the finalizer of MurmurHash3. FNV
// alone barely moves its high bits for short keys that differ at the end. It never changes:
// every process must find the same partition for a name.
func Sum64[T string | []byte](key T) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * 0x100000001b3
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
