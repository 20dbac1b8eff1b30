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

import (
	"math/bits"

	"github.com/snowgrid/snowgrid/internal/hash"
)

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
	high, _ := bits.Mul64(hash.Sum64(name), uint64(partitions))
	return ID(high)
}
