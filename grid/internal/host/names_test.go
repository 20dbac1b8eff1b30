package host

import (
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// TestCountsCoverAllPartitions: counts are used only if they have every partition once. Otherwise they
// are fetched again before a second has passed.
func TestCountsCoverAllPartitions(t *testing.T) {
	const asked = time.Hour
	r := &roster.Roster{Partitions: make([]roster.Partition, 3)}
	for name, c := range map[string]struct {
		owners [][]roster.PartitionID
		want   bool
	}{
		"each once":                      {[][]roster.PartitionID{{2, 0}, {}, {1}}, true},
		"one owner":                      {[][]roster.PartitionID{{0, 1, 2}}, true},
		"one missing":                    {[][]roster.PartitionID{{0}, {2}}, false},
		"none":                           {nil, false},
		"one twice":                      {[][]roster.PartitionID{{0, 1}, {2, 1}}, false},
		"one twice, and another missing": {[][]roster.PartitionID{{0, 1}, {1}}, false},
		"beyond the last":                {[][]roster.PartitionID{{0, 1}, {2, 3}}, false},
	} {
		n := names{asked: asked, known: true}
		var all memberCounts
		for _, partitions := range c.owners {
			all = append(all, memberCount{partitions: partitions})
		}
		if got := n.cover(r, all); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		for since, want := range map[time.Duration]bool{
			countsAgain - 1: false, countsAgain: !c.want, countsKeep - 1: !c.want, countsKeep: true,
		} {
			if got := n.isOld(asked+since, asked); got != want {
				t.Errorf("%s: %v after the fetch, the counts are old: %v, want %v", name, since, got, want)
			}
		}
	}
}
