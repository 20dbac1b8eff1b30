package main

// placementTests are next to the placement rules, and zoneTests next to the roster's rules for
// voters and zones.
var (
	placementTests = []string{"./internal/roster/plan", "-run", "Spread|PlanWalk|PlanZones"}
	zoneTests      = []string{"./internal/roster", "-run", "VotersAndZones|InOneZone"}
)

// placementMutants weaken the placement of backups, and the roster's settings for voters and zones.
var placementMutants = []mutant{
	{"zones", "copies are placed without regard to zones", "internal/roster/plan/spread.go",
		"if s.members[r].zone == m.zone {", "if s.members[r].zone == m.zone && id == 0 {", placementTests},
	{"zones", "the last place is not kept for a disk", "internal/roster/plan/spread.go",
		"disk := s.durable && place == s.last", "disk := s.durable && place > s.last", placementTests},
	{"zones", "a member that joined without its zone never gets it", "internal/roster/plan/zones.go",
		"if known && stays && zone != m.Zone {", "if known && !stays && zone != m.Zone {", placementTests},
	{"zones", "a partition in one zone is not reported", "internal/roster/zone.go",
		"return r.ZoneOf(i) != r.ZoneOf(p.Owner)", "return i != p.Owner", zoneTests},
	{"spread", "the backups of an owner fall to few members", "internal/roster/plan/spread.go",
		"if score := rendezvous(id, s.members[i].member);", "if score := rendezvous(0, s.members[i].member);",
		[]string{"./internal/roster/plan", "-run", "SpreadMovesFew|SpreadIsEven"}},
	{"spread", "a member has more than its share of an owner's backups", "internal/roster/plan/spread.go",
		"float64(s.backups[owner][i]) < share &&", "float64(s.backups[owner][i]) < share+1e9 &&", placementTests},
	{"votes", "an even number of voters is agreed on", "internal/roster/settings.go",
		"n >= 1 && n <= MaxVoters && n%2 == 1", "n >= 1 && n <= MaxVoters", zoneTests},
}
