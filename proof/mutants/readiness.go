package main

// readinessTests guard a member's replies about itself and the grid.
var (
	readinessTests = []string{"./grid", "-run", "TestStanding|TestAnswers$|TestClone|TestCrashedMember|TestJoinReplaces"}
	settingsTests  = []string{"./grid", "-run", "TestRestartWithOtherSettings"}
)

// readinessMutants each remove one line from the readiness rules.
var readinessMutants = []mutant{
	{"ready", "a member without an agreement is ready", "grid/readiness.go", "case s.raised > limit:", "case false:",
		readinessTests},
	{"ready", "a member that has seen no agreement is ready", "grid/readiness.go", "case s.raised < 0:", "case false:",
		readinessTests},
	{"ready", "a member that is not in the roster is ready", "grid/readiness.go",
		"if _, in := s.roster.Member(s.self); !in {", "if _, in := s.roster.Member(s.self); !in && s.self == \"\" {",
		readinessTests},
	{"ready", "a member without its replicas is ready", "grid/readiness.go", "unless(s.roster.Settled(s.self), ",
		"unless(true, ", readinessTests},
	{"ready", "a member that starts does not wait for the grid", "grid/readiness.go", "	if s.wasReady || s.wasSettled {",
		"	if true {", readinessTests},
	{"ready", "a crash elsewhere takes a member out of service", "grid/readiness.go", "	if s.wasReady || s.wasSettled {",
		"	if false {", readinessTests},
	{"alerts", "a grid with fewer members than expected is well", "grid/alertchecks.go", "len(s.Members) >= expect {",
		"len(s.Members) >= 0 {", []string{"./grid", "-run", "TestAlerts"}},
	{"alerts", "names are not stored", "grid/internal/gossip/namesfile.go",
		"	for s.dir != \"\" && signal", "	for s.dir == \"\" && signal",
		[]string{"./grid/gridtest", "-run", "TestNamesOutliveAStop"}},
	{"alerts", "stored names are not read", "grid/internal/gossip/gossip.go", "		g.Learn(inc, name)\n",
		"		_, _ = inc, name\n", []string{"./grid/gridtest", "-run", "TestNamesOutliveAStop"}},
	{"alerts", "a voter that is gone has no name", "grid/statuszones.go", "Name: o.gossip.MemberName(id)}", "Name: \"\"}",
		[]string{"./grid/gridtest", "-run", "TestMissingMembersAreNamed"}},
	{"ready", "a member is ready before IDs begin", "grid/firstid.go", "p.Term == p.LostTerm && p.Floor > s.now",
		"p.Term == p.LostTerm && p.Floor < 0", readinessTests},
	{"ready", "the loss of some partitions takes a member out of service", "grid/firstid.go",
		"s.wasReady && waits < len(s.roster.Partitions)", "false", readinessTests},
	{"ready", "IDs begin with the first partition", "grid/firstid.go", "max(b.at, p.Floor)", "p.Floor", readinessTests},
	{"ready", "a member beside a dead majority is ready", "grid/readiness.go", "	case s.stranded:\n",
		"	case s.stranded && s.raised < 0:\n", readinessTests},
	{"settled", "a grid without a leader is settled", "grid/readiness.go", "	if s.leaderless {\n",
		"	if s.leaderless && s.stranded {\n", readinessTests},
	{"settled", "a copy at a member in doubt counts", "grid/readiness.go", "if !slices.Contains(s.roster.Unsettled, i) {",
		"if !slices.Contains(s.roster.Unsettled, i) || i != \"\" {", readinessTests},
	{"settled", "one copy is enough", "grid/readiness.go",
		"want := min(s.roster.Settings.Backups, len(s.roster.Members)-1)",
		"want := min(s.roster.Settings.Backups, len(s.roster.Members)-1, 1)", readinessTests},
	{"settled", "more copies are wanted than there are members", "grid/readiness.go",
		"want := min(s.roster.Settings.Backups, len(s.roster.Members)-1)", "want := s.roster.Settings.Backups",
		readinessTests},
	{"settings", "a restart does not compare settings", "grid/settings.go", "	if !known.Formed() {",
		"	if known.Version >= 0 {", settingsTests},
	{"settings", "settings in a snapshot are not compared", "grid/internal/raftlog/stores.go",
		"r.Roster, err = readSnapshot(s.Snaps, meta.ID); err", "_, err = readSnapshot(s.Snaps, meta.ID); err", settingsTests},
	{"settings", "a name that is not stated is the preset one", "grid/settings.go", "	if m.cfg.unnamed {",
		"	if m.cfg.unnamed && m.lone {", settingsTests},
}
