// Package partition decides who is responsible for which names.
//
// The names of sequencers are spread over a fixed number of partitions ([Of]).
// A grid agrees on one [Roster]: its members, the owner of every partition, the
// settings and the ceiling below which owners may grant timestamps. The roster
// is a state machine. Each [Command] is computed from one version of it and
// refused on any other, so that two leaders can never both be obeyed:
//
//	       Sight                 Command               new *Roster
//	leader -----> Plan(roster) ----------> (the log) -------------> Roster.Apply
//	                                                                on every member
//
// [Place] spreads partitions over members with a consistent hash ring. Placement
// is computed by the leader alone and logged as a result: another member never
// computes it again to learn who owns what, so members that run different
// releases of the ring cannot disagree.
//
// [Timekeeper] is the leader's rule for moving cluster time forward, and
// [ClusterTime] is how every process follows it on its monotonic clock.
//
// Everything here is a value. Nothing waits, logs, reads a clock or draws a
// random number: time comes in as an argument and results go out as values, so
// that a whole grid can be run in a loop. The letters in comments (R3, I1) are
// the rules of the protocol.
package partition

import "math/bits"

// Tick is a point in time in Unix milliseconds, or a span of milliseconds where
// a field says so (the window).
type Tick = int64

// latest is the last tick any roster may speak of: the end of the year 9999. It
// is so far from the limits of int64 that adding a window cannot overflow.
const latest Tick = 253_402_300_799_999

// ID is the number of a partition, from 0 to the grid's partition count less one.
type ID uint16

// Of gives the partition of a name in a grid of that many partitions. The answer
// depends on nothing else and is the same for ever: every holder and every
// member must look for a name in the same place. A count below 1 gives 0.
func Of(name string, partitions int) ID {
	if partitions < 1 {
		return 0
	}
	// The high word of the product scales the hash to [0, partitions).
	high, _ := bits.Mul64(hash(name), uint64(partitions))
	return ID(high)
}

// hash is FNV-1a over 64 bits, followed by the finalizer of MurmurHash3. FNV
// alone barely moves its high bits for short keys that differ at the end.
func hash[T string | []byte](key T) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * 0x100000001b3
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
