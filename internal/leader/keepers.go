package leader

import (
	"slices"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// In a grid without data directories a majority of the voters keeps the definitions of each
// partition in memory. Package roster chooses them from the voters, which the leader names.

// keepers returns the voters of a grid without data directories, sorted, once partitions
// have owners or are about to. It returns none before every process can read them.
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
	if v.Roster.InUse() < roster.Protocol3 && !l.allRead(v, roster.Protocol3) {
		return nil
	}
	slices.Sort(out)
	return out
}

// allRead reports whether every member, and every process that asks to join, is known to
// read a protocol.
func (l *Leader) allRead(v View, p roster.Protocol) bool {
	lack, silent := l.lacking(v, p)
	for _, j := range l.requests.joins {
		if !j.release.Reads(p) {
			return false
		}
	}
	return len(lack)+len(silent) == 0
}
