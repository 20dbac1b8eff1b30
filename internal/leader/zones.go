package leader

// Voters are spread over zones, so that a failed zone takes as few votes as possible. A vote moves
// in two ordinary steps: a member in the zone with fewer votes is promoted, and then the fullest
// zone loses the surplus vote.

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

// spreads reports whether a server should replace the first surplus voter. Nothing else may be
// due. The vote moves to a zone with two votes fewer, or, if there are zones, from a server without
// a disk to a server with a disk: each step improves the distribution, so the steps end.
func (e electorate) spreads(s Server) bool {
	if e.voting != e.want || e.absent > 0 || e.passing || len(e.surplus) == 0 ||
		len(e.leavers)+len(e.gone)+len(e.down) > 0 || len(e.servers()) < 2 {
		return false
	}
	goes := e.surplus[0]
	if rank(s) != rank(goes) {
		return rank(s) < rank(goes)
	}
	return e.crowd(goes)-e.crowd(s) >= 2
}
