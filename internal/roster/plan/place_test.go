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

// placeLimit is the most partitions a member may be given to own.
func placeLimit(members, partitions int) int {
	return int(math.Ceil(float64(partitions) / float64(members) * ringLoad))
}

// TestPlace: every partition has an owner and as many other replicas as there can
// be, each once, no member owns more than the limit, and only the set of members
// matters.
func TestPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 30).Draw(t, "members")
		partitions := rapid.IntRange(1, 300).Draw(t, "partitions")
		members := manyMembers(count, rapid.IntRange(0, 1<<20).Draw(t, "seed"))
		copies := rapid.IntRange(-3, 5).Draw(t, "copies")
		placed := Place(members, partitions, copies)
		if len(placed) != partitions {
			t.Fatalf("%d owners of %d partitions", len(placed), partitions)
		}
		owns := make(map[roster.MemberID]int)
		for id, replicas := range placed {
			distinct := slices.Compact(slices.Sorted(slices.Values(replicas)))
			if want := min(count, 1+max(0, copies)); len(replicas) != want || len(distinct) != want {
				t.Fatalf("partition %d is on %v, want %d members", id, replicas, want)
			}
			for _, m := range replicas {
				if !slices.Contains(members, m) {
					t.Fatalf("partition %d is on a stranger: %v", id, replicas)
				}
			}
			owner := replicas[0]
			if owns[owner]++; owns[owner] > placeLimit(count, partitions) {
				t.Fatalf("%q owns %d of %d", owner, owns[owner], partitions)
			}
		}
		shuffled := rapid.Permutation(members).Draw(t, "order")
		repeated := append(shuffled, shuffled[0])
		if !reflect.DeepEqual(placed, Place(repeated, partitions, copies)) {
			t.Fatal("the order or a repetition of members matters")
		}
		if fewer := Place(members, partitions, 0); slices.ContainsFunc(fewer,
			func(r []roster.MemberID) bool { return len(r) != 1 }) {
			t.Fatal("no copies are wanted, and there are some")
		} else if !slices.EqualFunc(placed, fewer, func(a, b []roster.MemberID) bool { return a[0] == b[0] }) {
			t.Fatal("who owns depends on how many copies are wanted")
		}
	})
}

// TestPlaceEdges: no member, one, and more members than partitions.
func TestPlaceEdges(t *testing.T) {
	one := manyMembers(1, 0)
	if Place(nil, 5, 1) != nil || Place(one, 0, 1) != nil || Place(one, -1, 1) != nil {
		t.Error("a placement without members or partitions")
	}
	if got := Place(one, 3, 2); !reflect.DeepEqual(got, [][]roster.MemberID{one, one, one}) {
		t.Errorf("one member: %v", got)
	}
	if got := Place(manyMembers(200, 1), 3, 1); len(got) != 3 {
		t.Errorf("many members: %v", got)
	}
	if got := Place(manyMembers(3, 2), roster.MaxPartitions, 1); len(got) != roster.MaxPartitions {
		t.Errorf("many partitions: %d", len(got))
	}
}

// TestPlaceKeepsMost: when a member is gone, most partitions of the others stay.
func TestPlaceKeepsMost(t *testing.T) {
	members := manyMembers(5, 7)
	before, after := Place(members, roster.DefaultPartitions, 1), Place(members[:4], roster.DefaultPartitions, 1)
	moved := 0
	for id, replicas := range before {
		if owner := replicas[0]; owner != members[4] && after[id][0] != owner {
			moved++
		}
	}
	if moved > roster.DefaultPartitions/3 {
		t.Errorf("%d of %d partitions moved between members that stay", moved, roster.DefaultPartitions)
	}
}

func manyMembers(count, seed int) []roster.MemberID {
	var out []roster.MemberID
	for n := range count {
		out = append(out, roster.MemberID(fmt.Sprintf("%016x", seed*1000+n)))
	}
	return out
}
