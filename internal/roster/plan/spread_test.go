package plan

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// drawCandidates draws members, some durable, in up to four zones.
func drawCandidates(t *rapid.T) (out []candidate) {
	durable := rapid.IntRange(0, 2).Draw(t, "durable") // none, some, all
	zones := rapid.IntRange(1, 4).Draw(t, "zones")
	for i, id := range manyMembers(rapid.IntRange(1, 12).Draw(t, "members"), rapid.IntRange(0, 1<<20).Draw(t, "seed")) {
		c := candidate{member: id, durable: durable == 2 || durable == 1 && rapid.Bool().Draw(t, "disk")}
		if zones > 1 {
			c.zone = fmt.Sprintf("z%d", rapid.IntRange(0, zones-1).Draw(t, fmt.Sprintf("zone of %d", i)))
		}
		out = append(out, c)
	}
	return out
}

// TestSpread: owners are those of the ring, every partition has as many replicas as there
// can be, each once, in as many zones as there can be, on a durable member if there is one;
// and only the set of members matters.
func TestSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := drawCandidates(t)
		partitions := rapid.IntRange(1, 120).Draw(t, "partitions")
		copies := rapid.IntRange(-1, 4).Draw(t, "copies")
		placed := spread(members, partitions, copies)
		if len(placed) != partitions {
			t.Fatalf("%d of %d partitions are placed", len(placed), partitions)
		}
		of := map[roster.MemberID]candidate{}
		zones := map[string]bool{}
		var ids []roster.MemberID
		anyDurable := false
		for _, m := range members {
			of[m.member], zones[m.zone] = m, true
			ids = append(ids, m.member)
			anyDurable = anyDurable || m.durable
		}
		want := min(len(members), 1+max(0, copies))
		owners := Place(ids, partitions, 0)
		for id, replicas := range placed {
			seen, in, durable := map[roster.MemberID]bool{}, map[string]bool{}, false
			for _, m := range replicas {
				seen[m], in[of[m].zone], durable = true, true, durable || of[m].durable
			}
			if len(replicas) != want || len(seen) != want || seen[""] {
				t.Fatalf("partition %d is on %v, want %d members", id, replicas, want)
			}
			if replicas[0] != owners[id][0] && want > 1 {
				t.Fatalf("partition %d is owned by %s, by the ring %s", id, replicas[0], owners[id][0])
			}
			if anyDurable && !durable {
				t.Fatalf("partition %d is on no durable member: %v", id, replicas)
			}
			// The last place may have to be one with a disk.
			if most := min(want, len(zones)); len(in) < most-1 || len(in) < most && (!anyDurable || !hasOneDisk(replicas, of)) {
				t.Fatalf("partition %d is in %d zones of %d: %v of %+v", id, len(in), len(zones), replicas, members)
			}
		}
		shuffled := rapid.Permutation(members).Draw(t, "order")
		if !reflect.DeepEqual(placed, spread(append(shuffled, shuffled[0]), partitions, copies)) {
			t.Fatal("the order or a repetition of members matters")
		}
	})
}

// hasOneDisk reports whether the last replica alone is durable.
func hasOneDisk(replicas []roster.MemberID, of map[roster.MemberID]candidate) bool {
	last := len(replicas) - 1
	return of[replicas[last]].durable && !slices.ContainsFunc(replicas[:last],
		func(m roster.MemberID) bool { return of[m].durable })
}

// TestSpreadIsEven: in one zone the backups of each owner are spread over all other
// members, none with more than a quarter above its share.
func TestSpreadIsEven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count, copies := rapid.IntRange(2, 12).Draw(t, "members"), rapid.IntRange(1, 4).Draw(t, "copies")
		copies = min(copies, count-1)
		members := oneZone(manyMembers(count, rapid.IntRange(0, 1<<20).Draw(t, "seed")))
		owned, backups := tally(spread(members, roster.DefaultPartitions, copies))
		for pair, n := range backups {
			if limit := int(math.Ceil(ringLoad * float64(owned[pair[0]]*copies) / float64(count-copies))); n > limit {
				t.Fatalf("of the %d partitions of %s, %s has %d backups, want %d at most", owned[pair[0]], pair[0], pair[1], n,
					limit)
			}
		}
	})
	// With the default settings no member is left out, at any of many sets of members.
	for seed := range 200 {
		members := oneZone(manyMembers(5, seed))
		owned, backups := tally(spread(members, roster.DefaultPartitions, 1))
		for _, o := range members {
			for _, b := range members {
				if n := backups[[2]roster.MemberID{o.member, b.member}]; o != b &&
					(n < owned[o.member]/16 || n > owned[o.member]/2) {
					t.Fatalf("seed %d: of %d partitions of %s, %s has %d backups", seed, owned[o.member], o.member, b.member, n)
				}
			}
		}
	}
}

// TestSpreadMovesFew: one member more costs little more than the copies that it takes.
func TestSpreadMovesFew(t *testing.T) {
	for _, zones := range []int{1, 3} {
		for _, copies := range []int{1, 2} {
			for _, n := range []int{3, 5, 7, 12} {
				moved, least := 0, 0
				for seed := range 10 {
					members := oneZone(manyMembers(n+1, seed))
					for i := range members {
						members[i].zone = fmt.Sprint(i % zones)
					}
					before, after := spread(members[:n], roster.DefaultPartitions, copies), spread(members, roster.DefaultPartitions,
						copies)
					for id, replicas := range after {
						for _, m := range replicas {
							if !slices.Contains(before[id], m) {
								moved++
							}
							if m == members[n].member {
								least++
							}
						}
					}
				}
				if moved > 2*least {
					t.Errorf("%d members, %d copies, %d zones: one more moves %d replicas and takes %d", n, copies, zones, moved/10,
						least/10)
				}
			}
		}
	}
}

// TestSpreadOverZones: with three zones of two, each owner's backups are in the other two
// zones, on all four members; with one member in the second of two zones it has them all.
func TestSpreadOverZones(t *testing.T) {
	members := oneZone(manyMembers(6, 1))
	for i := range members {
		members[i].zone = fmt.Sprint(i % 3)
	}
	zone := map[roster.MemberID]string{}
	for _, m := range members {
		zone[m.member] = m.zone
	}
	_, backups := tally(spread(members, roster.DefaultPartitions, 1))
	for _, o := range members {
		for _, b := range members {
			if n := backups[[2]roster.MemberID{o.member, b.member}]; (n > 0) != (o.zone != b.zone) {
				t.Errorf("%s in zone %s has %d backups of %s in zone %s", b.member, b.zone, n, o.member, o.zone)
			}
		}
	}
	for i := range members {
		members[i].zone = "many"
	}
	members[5].zone = "one"
	for id, replicas := range spread(members, roster.DefaultPartitions, 1) {
		if !slices.Contains(replicas, members[5].member) {
			t.Errorf("partition %d is in one zone: %v", id, replicas)
		}
	}
}

func oneZone(ids []roster.MemberID) (out []candidate) {
	for _, id := range ids {
		out = append(out, candidate{member: id})
	}
	return out
}

// tally counts the partitions of each owner, and the backups for each pair of owner and
// backup.
func tally(placed [][]roster.MemberID) (owned map[roster.MemberID]int, backups map[[2]roster.MemberID]int) {
	owned, backups = map[roster.MemberID]int{}, map[[2]roster.MemberID]int{}
	for _, replicas := range placed {
		owned[replicas[0]]++
		for _, b := range replicas[1:] {
			backups[[2]roster.MemberID{replicas[0], b}]++
		}
	}
	return owned, backups
}
