package leader

import (
	"slices"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// In a grid without data directories a majority of voters keeps each partition's definitions in
// memory. Package roster chooses them from the voters, which the leader names.

// keepers returns, sorted, the voters in a grid without data directories, once partitions
// have owners or are about to.
func (l *Leader) keepers(v View) []roster.Incarnation {
	if !v.Roster.Assigned() && !l.complete(v) {
		return nil
	}
	var out []roster.Incarnation
	for _, s := range v.Servers {
		switch {
		case !s.Voter:
		case s.ID.IsDurable():
			return nil
		default:
			out = append(out, roster.Incarnation(s.ID))
		}
	}
	slices.Sort(out)
	return out
}
