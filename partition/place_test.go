package partition

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestPlace: every partition has an owner, nobody owns more than the limit, and
// only the set of members matters.
func TestPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 30).Draw(t, "members")
		partitions := rapid.IntRange(1, 300).Draw(t, "partitions")
		members := manyMembers(count, rapid.IntRange(0, 1<<20).Draw(t, "seed"))
		placed := Place(members, partitions)
		if len(placed) != partitions {
			t.Fatalf("%d owners of %d partitions", len(placed), partitions)
		}
		owns := make(map[Incarnation]int)
		for _, owner := range placed {
			owns[owner]++
			if !slices.Contains(members, owner) || owns[owner] > placeLimit(count, partitions) {
				t.Fatalf("%q owns %d of %d", owner, owns[owner], partitions)
			}
		}
		shuffled := rapid.Permutation(members).Draw(t, "order")
		repeated := append(shuffled, shuffled[0])
		if !slices.Equal(placed, Place(repeated, partitions)) {
			t.Fatal("the order or a repetition of members matters")
		}
	})
}

// TestPlaceEdges: nobody, one, and more members than partitions.
func TestPlaceEdges(t *testing.T) {
	one := manyMembers(1, 0)
	if Place(nil, 5) != nil || Place(one, 0) != nil || Place(one, -1) != nil {
		t.Error("something was placed on nobody, or nothing on somebody")
	}
	if got := Place(one, 3); !slices.Equal(got, []Incarnation{one[0], one[0], one[0]}) {
		t.Errorf("one member: %v", got)
	}
	if got := Place(manyMembers(200, 1), 3); len(got) != 3 {
		t.Errorf("many members: %v", got)
	}
	if got := Place(manyMembers(3, 2), MaxPartitions); len(got) != MaxPartitions {
		t.Errorf("many partitions: %d", len(got))
	}
}

// TestPlaceKeepsMost: when a member is gone, most partitions of the others stay.
func TestPlaceKeepsMost(t *testing.T) {
	members := manyMembers(5, 7)
	before, after := Place(members, DefaultPartitions), Place(members[:4], DefaultPartitions)
	moved := 0
	for id, owner := range before {
		if owner != members[4] && after[id] != owner {
			moved++
		}
	}
	if moved > DefaultPartitions/3 {
		t.Errorf("%d of %d partitions moved between members that stay", moved, DefaultPartitions)
	}
}

func manyMembers(count, seed int) []Incarnation {
	var out []Incarnation
	for n := range count {
		out = append(out, Incarnation(fmt.Sprintf("%016x-%016x", seed*1000+n, seed)))
	}
	return out
}
