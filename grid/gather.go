package grid

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/signal"
)

// While a partition moves, its old owner may list it no longer and its new one not yet. Such a
// partition is requested again.
const (
	gatherRounds = 6
	gatherPause  = 50 * time.Millisecond
	gatherLimit  = time.Second // for all rounds after the first
)

type covers = []roster.PartitionID

// gathered are the replies of all members that own partitions, each with its share of a list.
type gathered[R any] struct {
	replies     []R
	unlisted    covers               // no reply covers them
	unreachable []roster.Incarnation // sent no reply in any round
}

// gather calls ask for every member of the current roster at once, and then for the owners of the
// partitions that no reply covers.
func gather[R any](ctx context.Context, current func() *roster.Roster,
	ask func(context.Context, roster.Member) (R, covers, error)) (g gathered[R]) {
	var mu sync.Mutex // guards g, replied and covered during a round
	replied := map[roster.Incarnation]bool{}
	covered := map[roster.PartitionID]bool{}
	for round := range gatherRounds {
		if round == 1 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, gatherLimit)
			defer cancel()
		}
		if round > 0 && !signal.Sleep(ctx, gatherPause) {
			break
		}
		r := current()
		members := slices.Clone(r.Members)
		if round > 0 {
			members = slices.DeleteFunc(members, func(m roster.Member) bool {
				return slices.Contains(g.unreachable, m.Incarnation) || !ownsAny(r, m.Incarnation, g.unlisted)
			})
		}
		var wg sync.WaitGroup
		for _, member := range members {
			wg.Go(func() {
				reply, by, err := ask(ctx, member)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					if !replied[member.Incarnation] {
						g.unreachable = append(g.unreachable, member.Incarnation)
					}
					return
				}
				replied[member.Incarnation] = true
				g.replies = append(g.replies, reply)
				for _, id := range by {
					covered[id] = true
				}
			})
		}
		wg.Wait()
		g.unlisted = nil
		again := false
		for i, p := range r.Partitions {
			if id := roster.PartitionID(i); !covered[id] {
				g.unlisted = append(g.unlisted, id)
				// A disk takes longer.
				again = again || len(r.Awaited(id)) == 0 && !slices.Contains(g.unreachable, p.Owner)
			}
		}
		if !again {
			break
		}
	}
	slices.Sort(g.unreachable)
	return g
}

func ownsAny(r *roster.Roster, member roster.Incarnation, ids []roster.PartitionID) bool {
	return slices.ContainsFunc(ids, func(id roster.PartitionID) bool {
		return int(id) < len(r.Partitions) && r.Partitions[id].Owner == member
	})
}
