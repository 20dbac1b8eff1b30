package main

var (
	protocolTests = []string{"-tags", "nextrelease", "./internal/roster", "./internal/wire", "-run",
		"TestProtocol|TestNewFields|TestFormatIs|TestUnknownCommands"}
	raiseTests    = []string{"-tags", "nextrelease", "./internal/leader", "-run", "TestProtocol|TestJoinOfOlder|TestNeed"}
	greetingTests = []string{"./grid/internal/transport", "-run", "TestGreetingOf|TestRaftStreamStates"}
	callTests     = []string{"./internal/calls", "./grid", "-run", "TestAPIReleases|TestReleaseOfUpgrade"}
	formingTests  = []string{"-tags", "nextrelease", "./grid/internal/formation", "-run", "TestNewSettings"}
	loweredTests  = []string{"-tags", "nextrelease", "./grid", "-run", "TestProtocolOfAGrid"}
)

// upgradeMutants weaken the rules by which members with two releases work together.
var upgradeMutants = []mutant{
	{"U1", "a new part is written as an older release does not expect it", "internal/wire/formatted.go",
		"	needed, _ := c.Needs()\n	return formatted(needed, c)", "	return formatted(roster.Protocol1, c)", protocolTests},
	{"U1", "a roster with a new part is written as an older release does not expect it", "internal/wire/formatted.go",
		"	needed, _ := rosterNeeds(r)\n	return formatted(needed, r)", "	return formatted(roster.Protocol1, r)",
		protocolTests},
	{"U1", "an entry may have a part that its format does not have", "internal/wire/formatted.go", "	if needed > format {",
		"	if needed > format && format > 1 {", protocolTests},
	{"U2", "a protocol that no release has", "internal/roster/protocol.go", "p < OldestProtocol || p > CurrentProtocol {",
		"p < OldestProtocol {", protocolTests},
	{"U3", "the protocol is raised before every member has it", "internal/leader/protocol.go", "		case !release.Reads(p):",
		"		case p < 0:", raiseTests},
	{"U3", "the protocol is raised before every member has said which it has", "internal/leader/protocol.go",
		"		case !said:", "		case !said && p < 0:", raiseTests},
	{"U3", "a member that cannot read the roster joins", "internal/leader/join.go",
		"p := r.InUse(); !a.Release.Reads(p) {", "p := r.InUse(); p < 0 {", raiseTests},
	{"U3", "a member joins that could read the roster when it asked", "internal/leader/admission.go",
		" || !j.release.Reads(v.Roster.InUse()) {", " {", raiseTests},
	{"U4", "the protocol is lowered although it was needed a moment ago", "internal/leader/protocol.go",
		"v.Mono-x.needed >= lowerAfter && !x.changes.pending", "v.Mono-x.needed >= lowerAfter/2 && !x.changes.pending",
		raiseTests},
	{"U5", "a member of an incompatible release is dialed", "grid/internal/transport/greeting.go",
		"	if err := t.cfg.Release.Meets(theirs.Release); err != nil {",
		"	if err := t.cfg.Release.Meets(theirs.Release); err != nil && addr == \"\" {", greetingTests},
	{"U5", "a member of an incompatible release is welcome", "grid/internal/transport/greeting.go",
		"		unfit = t.cfg.Release.Meets(theirs.Release)", "		unfit = nil", greetingTests},
	{"U5", "a Raft stream of an incompatible release counts", "grid/internal/transport/raftstream.go",
		"s.releases.Admit(p.Release); err != nil {", "s.releases.Admit(p.Release); err != nil && s.grid == p.Claim {",
		greetingTests},
	{"U5", "a call of an incompatible release is served", "grid/internal/api/api.go",
		"	if err := wire.CheckRelease(r.Header); err != nil {",
		"	if err := wire.CheckRelease(r.Header); err != nil && kind == \"\" {", callTests},
	{"U5", "an answer of an incompatible release counts", "internal/calls/upgrade.go",
		"	if err := wire.CheckRelease(res.Header); err != nil {",
		"	if err := wire.CheckRelease(res.Header); err != nil && addr == \"\" {", callTests},
	{"U6", "a member of the release before helps to form a grid with a new setting",
		"grid/internal/formation/bootstrap.go", "err != nil || release.Reads(needed) {", "err != nil || needed > 0 {",
		formingTests},
	{"U4", "entries that the older release cannot read stay in the log", "grid/internal/raftlog/lowered.go",
		"	short.TrailingLogs = 0\n", "", loweredTests},
}
