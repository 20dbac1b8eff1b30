package grid

import (
	"cmp"
	"slices"

	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// ZoneInfo is one zone, as the members of the roster state theirs.
type ZoneInfo struct {
	Zone    string `json:"zone"` // "" for members that state none
	Members int    `json:"members"`
	Voters  int    `json:"voters"`
	// Majority means that the other zones have no majority of the votes: if this one fails, nothing
	// is agreed until it is back.
	Majority bool `json:"majority,omitempty"`
}

// zonesOf describes the zones of members, sorted; nil if there is one alone.
func zonesOf(members []MemberInfo) []ZoneInfo {
	var out []ZoneInfo
	voters := 0
	for _, m := range members {
		i := slices.IndexFunc(out, func(z ZoneInfo) bool { return z.Zone == m.Zone })
		if i < 0 {
			i = len(out)
			out = append(out, ZoneInfo{Zone: m.Zone})
		}
		out[i].Members++
		if m.Voter {
			out[i].Voters++
			voters++
		}
	}
	if len(out) < 2 {
		return nil
	}
	for i := range out {
		out[i].Majority = 2*(voters-out[i].Voters) <= voters
	}
	slices.SortFunc(out, func(a, b ZoneInfo) int { return cmp.Compare(a.Zone, b.Zone) })
	return out
}

// describeZones adds the zones to a status, and the partitions with all copies in one zone.
func (s *Status) describeZones(r *roster.Roster) {
	if s.Zones = zonesOf(s.Members); s.Zones == nil {
		return
	}
	for _, p := range r.Partitions {
		if r.InOneZone(p) {
			s.OneZone++
		}
	}
}

// describeAbsent adds the voters that do not run.
func (o *overview) describeAbsent(s *Status, absent []roster.MemberID) {
	s.AbsentVoters = texts(absent)
	for _, id := range absent {
		absent := AbsentVoter{ID: string(id), Name: o.gossip.MemberName(id)}
		if node := o.raft.Node(); node != nil {
			absent.Raft = raftHost(node, string(id))
		}
		s.Absent = append(s.Absent, absent)
	}
}

// absentVoters returns the members that are not in the roster, do not run, and still have a vote,
// sorted. A member runs before the roster has it, as while the grid waits for its anchor.
func absentVoters(r *roster.Roster, voters []leader.ServerID,
	alive map[roster.Incarnation]bool) (out []roster.MemberID) {
	runs := map[roster.MemberID]bool{}
	for inc := range alive {
		runs[inc.Member()] = true
	}
	for _, server := range voters {
		id := roster.Incarnation(server).Member()
		if _, member := leader.MemberOf(r, server); !member && !runs[id] {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
