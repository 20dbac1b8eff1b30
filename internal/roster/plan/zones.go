package plan

import (
	"slices"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// rezone has a change say the zones of members: those that join, and those that are in the
// roster without their zone, since some member could not read zones when they joined. If
// some process cannot read them now, it takes the zones from the records of those that
// join. A zone is agreed on from the protocol on that has zones; the change raises it.
func rezone(r *roster.Roster, s Sight, c *roster.Change) {
	may := max(r.InUse(), s.Protocol) >= roster.Protocol2
	stated := false
	for i := range c.Join {
		if !may {
			c.Join[i].Zone = ""
		}
		stated = stated || c.Join[i].Zone != ""
	}
	for _, m := range r.Members {
		zone, known := s.Zones[m.Incarnation]
		stays := !slices.Contains(c.Remove, m.Incarnation) && !slices.ContainsFunc(c.Join, func(j roster.Member) bool {
			return j.Incarnation.Member() == m.Incarnation.Member()
		})
		if may && known && stays && zone != m.Zone {
			c.Zones = append(c.Zones, roster.Zoning{Member: m.Incarnation, Zone: zone})
		}
	}
	if (stated || len(c.Zones) > 0) && r.InUse() < roster.Protocol2 {
		c.Protocol = roster.Protocol2
	}
}
