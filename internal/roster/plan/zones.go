package plan

import (
	"slices"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// rezone adds to a change the zones of members whose stated zone differs from the roster.
func rezone(r *roster.Roster, s Sight, c *roster.Change) {
	for _, m := range r.Members {
		zone, known := s.Zones[m.Incarnation]
		stays := !slices.Contains(c.Remove, m.Incarnation) && !slices.ContainsFunc(c.Join, func(j roster.Member) bool {
			return j.Incarnation.Member() == m.Incarnation.Member()
		})
		if known && stays && zone != m.Zone {
			c.Zones = append(c.Zones, roster.Zoning{Member: m.Incarnation, Zone: zone})
		}
	}
}
