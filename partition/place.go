package partition

import (
	"math"
	"slices"

	"github.com/buraksezer/consistent"
)

// The ring: how many points a member has on it, and how many times the average
// a member may be given.
const (
	ringPoints = 20
	ringLoad   = 1.25
)

// Place spreads partitions over members by a consistent hash ring with bounded
// loads: the result names an owner for each partition, and nobody is named more
// often than a quarter above the average, rounded up. It depends on the set of
// members alone, not on their order or on repetitions. Without members or
// partitions it is nil.
//
// Only a leader that plans calls it. The ring's layout is that of one release of
// the library, so no two processes may be expected to compute the same.
func Place(members []Incarnation, partitions int) []Incarnation {
	// The library takes a count of 0 for its own default and never ends on a
	// negative one. Should two points of the ring ever collide, the member that
	// was added last has both, so members are always added in the same order.
	if len(members) == 0 || partitions < 1 {
		return nil
	}
	members = slices.Compact(slices.Sorted(slices.Values(members)))
	ring := newRing(members, partitions)
	placed := make([]Incarnation, partitions)
	for id := range placed {
		placed[id] = Incarnation(ring.GetPartitionOwner(id).String())
	}
	return placed
}

// placeLimit is the most partitions a member may be given. The limits of all
// members together hold all partitions with room to spare, so there always is a
// member below its own.
func placeLimit(members, partitions int) int {
	return int(math.Ceil(float64(partitions) / float64(members) * ringLoad))
}

func newRing(members []Incarnation, partitions int) *consistent.Consistent {
	points := make([]consistent.Member, len(members))
	for at, i := range members {
		points[at] = ringMember(i)
	}
	return consistent.New(points, consistent.Config{
		Hasher:            ringHash{},
		PartitionCount:    partitions,
		ReplicationFactor: ringPoints,
		Load:              ringLoad,
	})
}

type ringMember Incarnation

func (m ringMember) String() string { return string(m) }

type ringHash struct{}

func (ringHash) Sum64(key []byte) uint64 { return hash(key) }
