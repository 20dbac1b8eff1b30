package main

var (
	setTests    = []string{"./internal/roster", "-run", "TestNumbers|TestRegistrations|TestIdentityOf|TestCleaned|TestImport|TestStepsOfSets|TestSets"}
	poisonTests = []string{"./internal/roster", "-run", "Incarnation|Unreadable|Hostile"}
	dropTests   = []string{"./internal/roster", "-run", "TestDroppedSets|TestHostile"}
	numberTests = []string{"./internal/leader", "-run", "TestWhoIsAlive|TestClean|TestStepsOfSets|TestSigns|TestNumbers"}
	// replacedTests runs a replaced process against every member.
	replacedTests = []string{"./grid/gridtest", "-run", "TestReplacedProcessGetsNoGrant"}
)

// identityMutants weaken the rules for persistent numbers:
//
//	N1  a number is given once: for the next one, or again for the same code
//	N2  next never goes down, and a set is never dropped
//	N3  a registration needs the code, and fences every earlier incarnation
//	N4  only the number of a process that is gone is removed
//	N5  a request of a fenced process gets no grant
var identityMutants = []mutant{
	{"N4", "a member that passes an answer on changes its legacy code", "internal/wire/errors.go",
		"case c.legacy == e.CodeLegacy:", "case c.legacy >= 0:", []string{"./internal/wire", "-run", "Relayed"}},
	{"N1", "any number that no process has is given", "internal/roster/identity.go", "	case a.ID != s.Next:",
		"	case given:", setTests},
	{"N1", "a repeated application is refused", "internal/roster/identity.go", "	case given && m.Code == a.Code:",
		"	case given && m.Code == a.Code && a.ID == 0:", setTests},
	{"N1", "an application does not need the code", "internal/roster/identity.go", "	case given && m.Code == a.Code:",
		"	case given && m.ID == a.ID:", setTests},
	{"N1", "an application gives a number without counting it", "internal/roster/identity.go", "	s.Next++\n", "",
		setTests},
	{"N2", "an import takes next back", "internal/roster/identity.go", "	s.Next = max(s.Next, in.Next)",
		"	s.Next = max(1, in.Next)", setTests},
	{"N2", "an import leaves next at an imported number", "internal/roster/identity.go", "s.Next = max(s.Next, a.ID+1)",
		"s.Next = max(s.Next, a.ID)", setTests},
	{"N2", "a clean of the last number drops the set's next", "internal/roster/identity.go",
		"	s.Members = slices.DeleteFunc(", "	s.Next = 1\n	s.Members = slices.DeleteFunc(", setTests},
	{"N2", "a recovered grid has no sets", "internal/roster/command.go", "		Sets:       f.Sets,\n", "", setTests},
	{"N3", "a registration does not need the code", "internal/roster/identity.go",
		"	case !m.Code.IsZero() && m.Code != g.Code:", "	case m.Code.IsZero() && g.Code.IsZero():", setTests},
	{"N3", "an imported number takes the code of each registration", "internal/roster/identity.go",
		"	m.Code, m.Member = g.Code, g.Member", "	m.Member = g.Member", setTests},
	{"N3", "a new process has the incarnation of the one before", "internal/roster/identity.go",
		"if m.Incarnation++; m.Incarnation >= MaxNumber", "if m.Incarnation+1 >= MaxNumber", setTests},
	{"N2", "a dropped set begins again", "internal/roster/drop.go",
		"		s.Next, s.Removed = r.Dropped[at].Next, r.Dropped[at].Removed\n", "		_ = at\n", dropTests},
	{"N2", "a set with numbers is dropped", "internal/roster/drop.go", "	case len(r.Sets[at].Members) > 0:",
		"	case len(r.Sets[at].Members) > 99:", dropTests},
	{"N2", "a set that is dropped again forgets the first time", "internal/roster/drop.go", "max(out[at].Next, d.Next)",
		"d.Next", dropTests},
	{"N2", "a recovered grid forgets dropped sets", "internal/roster/command.go", "		Dropped:    f.Dropped,\n", "",
		dropTests},
	{"N3", "a caller takes a number to any incarnation", "internal/roster/identity.go",
		"	if g.Incarnation > given+maxLost {", "	if g.Incarnation > MaxNumber {", poisonTests},
	{"R6", "a command leads to a roster that no member reads", "internal/roster/command.go", "	if next != r {\n		if err",
		"	if next == nil {\n		if err", poisonTests},
	{"N3", "a repeated registration fences itself", "internal/roster/identity.go", "	if g.Start != m.Start {",
		"	if g.Start != m.Before {", setTests},
	{"N3", "a late registration of the process before takes over", "internal/roster/identity.go",
		" || g.Start == m.Before):", "):", setTests},
	{"N3", "an old incarnation registers again", "internal/roster/identity.go",
		"g.Incarnation > 0 && g.Incarnation < m.Incarnation ||", "", setTests},
	{"N3", "an incarnation that the grid has lost is given again", "internal/roster/identity.go",
		"	m.Incarnation = max(m.Incarnation, g.Incarnation)\n", "", setTests},
	{"N3", "a restored number begins with the incarnations of the removed process", "internal/roster/identity.go",
		"		m.Incarnation = s.Removed\n", "		m.Incarnation = 0\n", setTests},
	{"N4", "a process that registered meanwhile is removed", "internal/roster/identity.go",
		"found && m.Incarnation != c.Incarnation {", "found && m.Incarnation < c.Incarnation {", setTests},
	{"N4", "a new leader takes every client for gone", "internal/leader/numbers.go", "	if v.Mono-n.began < aliveFor {",
		"	if v.Mono < n.began {", numberTests},
	{"N4", "a leader that was paused takes every client for gone", "internal/leader/numbers.go",
		"if !n.running || now-n.last > SignEvery {", "if !n.running {", numberTests},
	{"N4", "a member that gossip sees is gone", "internal/leader/numbers.go",
		"	if m.Member != \"\" && v.seesMember(m.Member) {", "	if m.Member == \"-\" {", numberTests},
	{"N4", "the living are removed", "internal/leader/numbers.go", "	if len(alive) > 0 && !force {",
		"	if len(alive) > 99 {", numberTests},
	{"N4", "a repeated clean does not look again", "internal/leader/numbers.go", "ids, force, tries-1, reply)",
		"ids, true, tries-1, reply)", numberTests},
	{"N3", "a survivor's greatest removed incarnation is forgotten", "internal/roster/set.go",
		"max(out[at].Removed, other.Removed)", "out[at].Removed", []string{"./internal/roster", "-run", "GreatestRemoved"}},
	{"N2", "data directories recover a grid without its sets", "internal/recovery/recovery.go", "Sets: old.Sets, ", "",
		[]string{"./grid", "-run", "TestNumbersSurviveARecovery"}},
	{"N5", "an owner attaches whatever process it is", "grid/internal/host/calls.go",
		"	return d.checkIdentity(in.Identity)\n", "	_ = d.checkIdentity(in.Identity)\n	return nil\n", replacedTests},
	{"N5", "an owner renews whatever process it is", "grid/internal/host/renew.go",
		"	if err := h.checkIdentity(in.Identity); err != nil {",
		"	if err := h.checkIdentity(in.Identity); err != nil && h == nil {", replacedTests},
	{"N2", "survivors recover a grid without its sets", "internal/recovery/memory.go", "Anchored: anchored, Sets: sets,",
		"Anchored: anchored,", []string{"./grid/gridtest", "-run", "TestSetsAfterARecovery"}},
	{"N5", "an earlier incarnation is served", "internal/roster/set.go", "	case incarnation < m.Incarnation:",
		"	case incarnation == 0:", setTests},
	{"N5", "a removed number is served", "internal/roster/set.go", "	case !found:\n		return notRegistered",
		"	case !found && id == 0:\n		return notRegistered", setTests},
}
