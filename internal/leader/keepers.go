package leader

import (
	"slices"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// In a grid without data directories a majority of the voters keeps the definitions of each
// partition in memory. Package roster chooses them from the voters, which the leader names.

// keepers returns the voters of a grid without data directories, sorted, once partitions
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
