package grid

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/signal"
)

// TestGather: a partition that its old owner lists no longer and its new owner not yet is requested
// again; a partition without a reply is reported, and so is a member that does not answer.
func TestGather(t *testing.T) {
	const a, b, c = roster.Incarnation("a"), roster.Incarnation("b"), roster.Incarnation("c")
	owned := func(owners ...roster.Incarnation) *roster.Roster {
		r := &roster.Roster{Members: []roster.Member{{Incarnation: a}, {Incarnation: b}, {Incarnation: c}}}
		for _, owner := range owners {
			r.Partitions = append(r.Partitions, roster.Partition{Owner: owner})
		}
		return r
	}
	none := map[roster.Incarnation][][]roster.PartitionID{}
	tests := map[string]struct {
		roster      *roster.Roster
		covers      map[roster.Incarnation][][]roster.PartitionID // by member, per call; the last one repeats
		silent      []roster.Incarnation
		calls       map[roster.Incarnation]int
		unlisted    []roster.PartitionID
		unreachable []roster.Incarnation
	}{
		"at rest": {
			roster: owned(a, b), covers: map[roster.Incarnation][][]roster.PartitionID{a: {{0}}, b: {{1}}},
			calls: map[roster.Incarnation]int{a: 1, b: 1, c: 1},
		},
		"the new owner is late": {
			roster: owned(a, b), covers: map[roster.Incarnation][][]roster.PartitionID{a: {{0}}, b: {nil, nil, {1}}},
			calls: map[roster.Incarnation]int{a: 1, b: 3, c: 1},
		},
		"the owner never lists it": {
			roster: owned(a, b), covers: map[roster.Incarnation][][]roster.PartitionID{a: {{0}}},
			calls: map[roster.Incarnation]int{a: 1, b: gatherRounds, c: 1}, unlisted: []roster.PartitionID{1},
		},
		"the owner is silent": {
			roster: owned(a, b), covers: map[roster.Incarnation][][]roster.PartitionID{a: {{0}}},
			silent: []roster.Incarnation{b}, calls: map[roster.Incarnation]int{a: 1, b: 1, c: 1},
			unlisted: []roster.PartitionID{1}, unreachable: []roster.Incarnation{b},
		},
		"no partitions": {roster: owned(), covers: none, calls: map[roster.Incarnation]int{a: 1, b: 1, c: 1}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				calls := map[roster.Incarnation]int{}
				g := gather(t.Context(), func() *roster.Roster { return tt.roster },
					func(_ context.Context, m roster.Member) (roster.Incarnation, []roster.PartitionID, error) {
						mu.Lock()
						defer mu.Unlock()
						n := calls[m.Incarnation]
						calls[m.Incarnation]++
						if slices.Contains(tt.silent, m.Incarnation) {
							return "", nil, errors.New("silent")
						}
						if answers := tt.covers[m.Incarnation]; len(answers) > 0 {
							return m.Incarnation, answers[min(n, len(answers)-1)], nil
						}
						return m.Incarnation, nil, nil
					})
				for _, m := range []roster.Incarnation{a, b, c} {
					if calls[m] != tt.calls[m] {
						t.Errorf("%d calls of %s, want %d", calls[m], m, tt.calls[m])
					}
				}
				if !slices.Equal(g.unlisted, tt.unlisted) || !slices.Equal(g.unreachable, tt.unreachable) {
					t.Errorf("unlisted %v, unreachable %v; want %v, %v", g.unlisted, g.unreachable, tt.unlisted, tt.unreachable)
				}
			})
		})
	}
}

// TestGatherAgain: a member that replied, and is silent or slow when it is requested again, is not
// unreachable, and its second call does not delay the list by more than gatherLimit.
func TestGatherAgain(t *testing.T) {
	const slow = 5 * time.Second
	r := &roster.Roster{Members: []roster.Member{{Incarnation: "a"}}, Partitions: []roster.Partition{{Owner: "a"}}}
	for name, first := range map[string]time.Duration{"slow": slow, "silent later": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				began := time.Now()
				g := gather(t.Context(), func() *roster.Roster { return r },
					func(ctx context.Context, _ roster.Member) (int, []roster.PartitionID, error) {
						wait := slow
						if calls++; calls == 1 {
							wait = first
						}
						if !signal.Sleep(ctx, wait) {
							return 0, nil, ctx.Err()
						}
						return calls, nil, nil
					})
				if took := time.Since(began); took > first+gatherLimit {
					t.Errorf("it took %v", took)
				}
				if len(g.replies) != 1 || len(g.unreachable) > 0 || !slices.Equal(g.unlisted, []roster.PartitionID{0}) {
					t.Errorf("replies %v, unreachable %v, unlisted %v", g.replies, g.unreachable, g.unlisted)
				}
			})
		})
	}
}
