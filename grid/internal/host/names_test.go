package host

import (
	"errors"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/spelling"
	"github.com/snowgrid/snowgrid/sequencer"
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

// TestNewNamesNeedEveryCount: a new name waits while no owner counts a partition, or two do. The use of a quota is not
// reported then.
func TestNewNamesNeedEveryCount(t *testing.T) {
	clock := handles.NewExactClock()
	known := state.New(clock, handles.NewExactClock())
	known.Apply(&roster.Roster{Partitions: make([]roster.Partition, 2),
		Quotas:  []roster.Quota{{Pattern: "a*", Names: 5}},
		Members: []roster.Member{{Incarnation: ownerInc}, {Incarnation: backupInc}}})
	for name, c := range map[string]struct {
		counted []roster.PartitionID
		want    error
	}{
		"each once":   {[]roster.PartitionID{0, 1}, errCount}, // the owners are counted again for the create
		"one missing": {[]roster.PartitionID{1}, sequencer.ErrUnavailable},
		"one twice":   {[]roster.PartitionID{0, 1, 1}, sequencer.ErrUnavailable},
	} {
		l := newLimits(&deps{self: ownerInc, state: known, clock: clock})
		l.names.known, l.names.asked = true, clock.Mono()
		l.names.members = map[roster.Incarnation]memberCount{backupInc: {partitions: c.counted,
			rows: map[spelling.Pattern]int{"a*": 1}, begun: map[spelling.Pattern]int{}}}
		if room := l.room(t.Context(), "a1", false); !errors.Is(room.full, c.want) {
			t.Errorf("%s: %v, want %v", name, room.full, c.want)
		}
		if use, known := l.QuotaUse(t.Context())["a*"]; known != errors.Is(c.want, errCount) || known && use != 1 {
			t.Errorf("%s: the use is %d, %v", name, use, known)
		}
	}
}
