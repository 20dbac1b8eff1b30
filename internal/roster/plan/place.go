package plan

import (
	"slices"

	"github.com/buraksezer/consistent"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// The ring: the number of points per member, and the maximum number of partitions a member may own,
// relative to the average.
const (
	ringPoints = 20
	ringLoad   = 1.25
)

// Place spreads partitions over members by a consistent hash ring with bounded loads. The result
// lists each partition's replicas, the owner first, then up to the given number of copies on other
// members. Each member owns at most 1.25 times the average, rounded up. The result depends only on
// the set of members; order and repetitions have no effect. Without members or partitions it is
// nil.
//
// Only a planning leader calls it. The ring's layout depends on the library's release, so two
// processes may compute different results.
func Place(members []roster.MemberID, partitions, copies int) [][]roster.MemberID {
	// The library replaces a count of 0 with its own default and never returns for a negative one.
	// If two points on the ring collide, the member added last has both, so members are always
	// added in the same order.
	if len(members) == 0 || partitions < 1 {
		return nil
	}
	members = slices.Compact(slices.Sorted(slices.Values(members)))
	points := make([]consistent.Member, len(members))
	for at, i := range members {
		points[at] = ringMember(i)
	}
	ring := consistent.New(points, consistent.Config{Hasher: ringHash{}, PartitionCount: partitions,
		ReplicationFactor: ringPoints, Load: ringLoad})
	replicas := min(len(members), 1+max(0, copies))
	placed := make([][]roster.MemberID, partitions)
	for id := range placed {
		closest, err := ring.GetClosestNForPartition(id, replicas)
		if err != nil {
			panic("internal/roster/plan: the ring has too few members: " + err.Error())
		}
		for _, member := range closest {
			placed[id] = append(placed[id], roster.MemberID(member.String()))
		}
	}
	return placed
}

type ringMember roster.MemberID

func (m ringMember) String() string { return string(m) }

type ringHash struct{}

func (ringHash) Sum64(key []byte) uint64 { return roster.Hash(key) }
