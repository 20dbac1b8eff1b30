package leader

import (
	"slices"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/plan"
)

// Voters are spread over zones, so that a failed zone takes as few votes as possible. A vote moves
// in two ordinary steps: a member in the zone with fewer votes is promoted, and then the fullest
// zone loses the surplus vote.

// describeMembers adds the members' zones to a sight.
func (l *Leader) describeMembers(s *plan.Sight) {
	s.Zones = map[roster.Incarnation]string{l.self: l.cfg.Self.Zone}
	for inc, c := range l.detector.contacts {
		if c.said {
			s.Zones[inc] = c.zone
		}
	}
}

// countZones records the staying members' zones, and the votes in each.
func (e *electorate) countZones(v View, wanted map[ServerID]bool) {
	e.zone, e.votes = map[ServerID]string{}, map[string]int{}
	for _, s := range v.Servers {
		if m, member := v.memberOf(s.ID); member && wanted[s.ID] {
			e.zone[s.ID] = m.Zone
			if s.Voter {
				e.votes[m.Zone]++
			}
		}
	}
}

// crowd returns how many votes there are in a server's zone.
func (e electorate) crowd(s Server) int { return e.votes[e.zone[s.ID]] }

// respreads reports whether a vote may be moved to another zone.
func (e electorate) respreads() bool { return slices.ContainsFunc(e.idle, e.spreads) }

// spreads reports whether a server should replace the first surplus voter. Nothing else may be
// due. The vote moves to a zone with two votes fewer, or, if there are zones, from a server without
// a disk to a server with a disk: each step improves the distribution, so the steps end.
func (e electorate) spreads(s Server) bool {
	if e.voting != e.want || e.absent > 0 || e.passing || len(e.surplus) == 0 ||
		len(e.leavers)+len(e.gone)+len(e.down) > 0 || e.zones() < 2 {
		return false
	}
	goes := e.surplus[0]
	if rank(s) != rank(goes) {
		return rank(s) < rank(goes)
	}
	return e.crowd(goes)-e.crowd(s) >= 2
}

// zones counts the staying members' zones.
func (e electorate) zones() int {
	seen := map[string]bool{}
	for _, zone := range e.zone {
		seen[zone] = true
	}
	return len(seen)
}
