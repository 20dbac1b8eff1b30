package state

import (
	"sync/atomic"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// Counts are the changes of the roster that this member has seen agreed on since it started.
// Entries that it reads again from a log or a snapshot do not count.
type Counts struct {
	// Moves are changes of a partition's owner while the earlier owner was a member in
	// good standing, Takeovers those in place of an owner that was gone or did not answer,
	// and Losses are partitions of which no copy was left.
	Moves, Takeovers, Losses uint64
	Joins, Removals          uint64 // members
}

// counts are the running counts of the changes.
type counts struct{ moves, takeovers, losses, joins, removals atomic.Uint64 }

// Counts returns the changes seen so far.
func (s *State) Counts() Counts {
	c := &s.counts
	return Counts{
		Moves: c.moves.Load(), Takeovers: c.takeovers.Load(), Losses: c.losses.Load(),
		Joins: c.joins.Load(), Removals: c.removals.Load(),
	}
}

// add counts the difference of two rosters of one grid.
func (c *counts) add(before, after *roster.Roster) {
	if before.Version == after.Version || before.Grid != after.Grid || len(before.Partitions) != len(after.Partitions) {
		return
	}
	for _, m := range after.Members {
		if _, was := before.Member(m.Incarnation); !was {
			c.joins.Add(1)
		}
	}
	for _, m := range before.Members {
		if _, is := after.Member(m.Incarnation); !is {
			c.removals.Add(1)
		}
	}
	for i := range after.Partitions {
		was, is := &before.Partitions[i], &after.Partitions[i]
		switch {
		case was.Owner == "" || was.Term == is.Term:
		case was.LostTerm != is.LostTerm:
			c.losses.Add(1)
		case before.Settled(was.Owner) && after.Settled(was.Owner):
			c.moves.Add(1)
		default:
			c.takeovers.Add(1)
		}
	}
}
