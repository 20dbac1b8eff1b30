package plan

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// candidate is a member that may be given replicas.
type candidate struct {
	member  roster.MemberID
	durable bool
	zone    string // members with "" form one zone
}

// idsOf returns the members' IDs, and separately the durable ones.
func idsOf(members []candidate) (all, durable []roster.MemberID) {
	for _, m := range members {
		all = append(all, m.member)
		if m.durable {
			durable = append(durable, m.member)
		}
	}
	return all, durable
}

// spreading is a placement of backups in progress. The ring has placed the owners. Each owner's
// backups are spread over all other members, so that a dead owner's partitions go to many members
// instead of one. Each partition ranks the members by a hash of both (rendezvous hashing), which
// moves few backups after a join or leave. It takes the first member with less than its share of
// that owner's backups.
type spreading struct {
	members []candidate // sorted by ID
	placed  [][]int     // by partition: indexes of its replicas, the owner first
	owned   []int       // by member: number of partitions it owns
	backups [][]int     // backups[o][b] is the number of o's partitions with a backup on b
	last    int         // a partition's last place
	durable bool        // some member is durable
}

// spread places partitions on members: the owner first, then up to the given number of copies on
// other members.
//
//   - The copies of a partition are in different zones if there are enough zones, and otherwise in
//     as many as possible. Zones take precedence over even distribution: with one member in one
//     zone and many in another, the one member has a backup of every partition.
//   - At least one replica of each partition is on a durable member, if there is one (D11). If no
//     earlier place is durable, the best durable member takes the last place.
//   - A member has at most 1.25 times its share of one owner's backups, rounded up, unless zones or
//     disks leave no other member.
//
// The result depends only on the set of members; order and repetitions have no effect.
func spread(members []candidate, partitions, copies int) [][]roster.MemberID {
	if len(members) == 0 || partitions < 1 {
		return nil
	}
	s := newSpreading(members, partitions, copies)
	for place := 1; place <= s.last; place++ {
		for id := range s.placed {
			s.add(roster.PartitionID(id), place)
		}
	}
	out := make([][]roster.MemberID, partitions)
	for id, replicas := range s.placed {
		for _, i := range replicas {
			out[id] = append(out[id], s.members[i].member)
		}
	}
	return out
}

func newSpreading(members []candidate, partitions, copies int) *spreading {
	members = slices.SortedFunc(slices.Values(members),
		func(a, b candidate) int { return cmp.Compare(a.member, b.member) })
	members = slices.CompactFunc(members, func(a, b candidate) bool { return a.member == b.member })
	all, durable := idsOf(members)
	at := map[roster.MemberID]int{}
	s := &spreading{members: members, owned: make([]int, len(members)), last: min(len(members)-1, max(0, copies))}
	for i, m := range members {
		at[m.member] = i
		s.backups = append(s.backups, make([]int, len(members)))
	}
	s.durable = len(durable) > 0
	owners := Place(all, partitions, 0)
	if s.last == 0 {
		owners = placeDurably(all, durable, partitions, 0)
	}
	for _, replicas := range owners {
		owner := at[replicas[0]]
		s.placed = append(s.placed, []int{owner})
		s.owned[owner]++
	}
	return s
}

func (s *spreading) add(id roster.PartitionID, place int) {
	owner := s.placed[id][0]
	eligible := s.eligible(id, place)
	share := ringLoad * float64(s.owned[owner]*place) / float64(len(eligible))
	best, least := -1, eligible[0]
	var bestScore uint64
	for _, i := range eligible {
		if s.backups[owner][i] < s.backups[owner][least] {
			least = i
		}
		if score := rendezvous(id, s.members[i].member); float64(s.backups[owner][i]) < share &&
			(best < 0 || score > bestScore) {
			best, bestScore = i, score
		}
	}
	if best < 0 {
		best = least
	}
	s.backups[owner][best]++
	s.placed[id] = append(s.placed[id], best)
}

// eligible returns the candidates for a partition's next backup: members in the zones with the
// fewest replicas, and, in the last place, durable ones if no replica is durable yet.
func (s *spreading) eligible(id roster.PartitionID, place int) (out []int) {
	replicas := s.placed[id]
	isDurable := func(i int) bool { return s.members[i].durable }
	disk := s.durable && place == s.last && !slices.ContainsFunc(replicas, isDurable)
	fewest := len(replicas) + 1
	for i, m := range s.members {
		if slices.Contains(replicas, i) || disk && !m.durable {
			continue
		}
		there := 0
		for _, r := range replicas {
			if s.members[r].zone == m.zone {
				there++
			}
		}
		if there < fewest {
			fewest, out = there, out[:0]
		}
		if there == fewest {
			out = append(out, i)
		}
	}
	return out
}

// rendezvous returns a member's rank for a partition. It never changes, so that leaders with
// different releases agree.
func rendezvous(id roster.PartitionID, m roster.MemberID) uint64 {
	return roster.Hash(binary.BigEndian.AppendUint16([]byte(m), uint16(id)))
}
