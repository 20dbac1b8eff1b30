package leader

import (
	"slices"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/plan"
)

// Voters are spread over the zones of their members, so that a zone that fails takes as
// few votes as possible. A vote is moved in two steps that keepVoters makes for other
// reasons as well: the member in the zone with fewer votes is promoted, and then there is
// one voter too many, of which the one in the fullest zone goes.

// describeMembers adds the zones of the members to a sight.
func (l *Leader) describeMembers(s *plan.Sight) {
	s.Zones = map[roster.Incarnation]string{l.self: l.cfg.Self.Zone}
	for inc, c := range l.detector.contacts {
		if c.said {
			s.Zones[inc] = c.zone
		}
	}
}

// countZones records the zones of the members that stay, and the votes in each.
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

// spreads reports whether a server is to vote in place of the voter that would go first.
// Nothing else may be due. The vote goes from one zone to another that has two votes
// fewer, or, where there are zones, from a server without a disk to one with a disk: each
// such step brings the voters closer to the best, so there is an end to them.
func (e electorate) spreads(s Server) bool {
	if e.voting != e.want || e.absent > 0 || e.passing || len(e.surplus) == 0 || len(e.leavers)+len(e.gone)+len(e.down) > 0 || e.zones() < 2 {
		return false
	}
	goes := e.surplus[0]
	if rank(s) != rank(goes) {
		return rank(s) < rank(goes)
	}
	return e.crowd(goes)-e.crowd(s) >= 2
}

// zones counts the zones of the members that stay.
func (e electorate) zones() int {
	seen := map[string]bool{}
	for _, zone := range e.zone {
		seen[zone] = true
	}
	return len(seen)
}
