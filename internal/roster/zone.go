package roster

import (
	"fmt"
	"slices"

	"github.com/snowgrid/snowgrid/internal/spelling"
)

// Zoning sets a member's zone. A member that joined while the grid had an older protocol has no
// zone in the roster.
type Zoning struct {
	Member Incarnation `json:"member"`
	Zone   string      `json:"zone"`
}

// zoneFault describes the error in the member's zone, "" for none.
func (m Member) zoneFault() string {
	if spelling.IsPlain(m.Zone) {
		return ""
	}
	return fmt.Sprintf("zone %.40q of member %s must be at most %d bytes of UTF-8 without control characters", m.Zone,
		m.Incarnation, spelling.MaxPlain)
}

// zoned returns the members with the zones that a change sets.
func zoned(members []Member, zones []Zoning) ([]Member, error) {
	if len(zones) == 0 {
		return members, nil
	}
	members = slices.Clone(members)
	for i, z := range zones {
		at, found := searchMember(members, z.Member)
		if !found || slices.ContainsFunc(zones[:i], func(other Zoning) bool { return other.Member == z.Member }) {
			return nil, refused("cannot set the zone for %q: it is not a member, or is listed twice", string(z.Member))
		}
		if members[at].Zone == z.Zone {
			return nil, refused("%s is already in zone %q", z.Member, z.Zone)
		}
		members[at].Zone = z.Zone
		if fault := members[at].zoneFault(); fault != "" {
			return nil, refused("%s", fault)
		}
	}
	return members, nil
}

// ZoneOf returns an incarnation's zone, "" if it has none or is not a member.
func (r *Roster) ZoneOf(i Incarnation) string {
	m, _ := r.Member(i)
	return m.Zone
}

// InOneZone reports whether a partition has several copies, all in one zone.
func (r *Roster) InOneZone(p Partition) bool {
	return len(p.InSync) > 1 && !slices.ContainsFunc(p.InSync, func(i Incarnation) bool {
		return r.ZoneOf(i) != r.ZoneOf(p.Owner)
	})
}
