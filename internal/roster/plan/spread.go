package plan

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/snowgrid/snowgrid/internal/hash"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// candidate is a member that replicas may be placed on.
type candidate struct {
	member  roster.MemberID
	durable bool
	zone    string // "" is a zone like any other
}

// idsOf returns the IDs of members, and of the durable ones among them.
func idsOf(members []candidate) (all, durable []roster.MemberID) {
	for _, m := range members {
		all = append(all, m.member)
		if m.durable {
			durable = append(durable, m.member)
		}
	}
	return all, durable
}

// spreading is the placement of backups while it is computed. Owners are those of the
// ring. The backups of one owner are spread over all other members, so that the
// partitions of an owner that dies go to many members and not to one: each partition
// ranks the members by a hash of both (rendezvous hashing), which moves few backups when
// a member comes or goes, and takes the first that has less than its share of that
// owner's backups.
type spreading struct {
	members []candidate // sorted by ID
	placed  [][]int     // of each partition the indexes of its replicas, the owner first
	owned   []int       // partitions of each member
	backups [][]int     // backups[o][b] is how many of o's partitions b has a backup of
	last    int         // the last place of a partition
	durable bool        // some member is durable
}

// spread places partitions on members: the owner first, then as many of the copies as
// there are other members.
//
//   - Copies of one partition are in different zones as far as there are zones, and
//     otherwise in as many as there are. This is more important than even numbers: of two
//     zones with one member and with many, the one has a backup of everything.
//   - One replica of each partition is on a durable member, if there is one (D11): if the
//     others are not, the last place is taken by the best of these.
//   - No member has more of one owner's backups than a quarter above its share, rounded
//     up, unless zones or disks leave no other.
//
// It depends on the set of members alone, not on their order or on repetitions.
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

// newSpreading places the owners.
func newSpreading(members []candidate, partitions, copies int) *spreading {
	members = slices.SortedFunc(slices.Values(members), func(a, b candidate) int { return cmp.Compare(a.member, b.member) })
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

// add places one more backup of a partition.
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
		if score := rendezvous(id, s.members[i].member); float64(s.backups[owner][i]) < share && (best < 0 || score > bestScore) {
			best, bestScore = i, score
		}
	}
	if best < 0 {
		best = least
	}
	s.backups[owner][best]++
	s.placed[id] = append(s.placed[id], best)
}

// eligible returns the members that may have the next backup of a partition: those in the
// zones with the fewest of its replicas, and, in the last place, durable ones if it has no
// durable replica.
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

// rendezvous is the rank of a member for a partition. It never changes, so that leaders of
// different releases agree.
func rendezvous(id roster.PartitionID, m roster.MemberID) uint64 {
	return hash.Sum64(binary.BigEndian.AppendUint16([]byte(m), uint16(id)))
}
