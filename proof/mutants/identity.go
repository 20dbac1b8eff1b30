package main

var (
	setTests = []string{"./internal/identity/numbers", "-run",
		"TestNumbers|TestRegistrations|TestIdentityOf|TestCleaned|TestImport|TestStepsOfSets|TestSets"}
	hostileTests = []string{"./internal/identity/numbers", "-run", "Incarnation|Hostile"}
	dropTests    = []string{"./internal/identity/numbers", "-run", "TestDroppedSets|TestHostile"}
	mergeTests   = []string{"./internal/identity/numbers", "-run", "TestDroppedNumbers"}
	numberTests  = []string{"./internal/identity/numbers", "-run", "TestWhoIsAlive|TestClean|TestRequests|TestSigns"}
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
	{"N4", "a list that the end of a lead cuts short is complete", "grid/numbers.go", "	if !leads {",
		"	if !leads && after > 0 {", []string{"./grid", "-run", "TestNoListAfterTheLead"}},
	{"N4", "a member that passes an answer on changes its legacy code", "internal/wire/errors.go",
		"case c.legacy == e.CodeLegacy:", "case c.legacy >= 0:", []string{"./internal/wire", "-run", "Relayed"}},
	{"N1", "any number that no process has is given", "internal/identity/numbers/apply.go", "	case a.ID != s.Next:",
		"	case given:", setTests},
	{"N1", "a repeated application is refused", "internal/identity/numbers/apply.go", "	case given && p.Code == a.Code:",
		"	case given && p.Code == a.Code && a.ID == 0:", setTests},
	{"N1", "an application does not need the code", "internal/identity/numbers/apply.go",
		"	case given && p.Code == a.Code:",
		"	case given && p.ID == a.ID:", setTests},
	{"N1", "an application gives a number without counting it", "internal/identity/numbers/apply.go", "	s.Next++\n", "",
		setTests},
	{"N2", "an import takes next back", "internal/identity/numbers/apply.go", "	s.raise(in.Next, in.Incarnation)",
		"	s.Next = max(1, in.Next)", setTests},
	{"N2", "an import leaves next at an imported number", "internal/identity/numbers/apply.go",
		"s.Next = max(s.Next, a.ID+1)",
		"s.Next = max(s.Next, a.ID)", setTests},
	{"N2", "a clean of the last number drops the set's next", "internal/identity/numbers/apply.go",
		"	s.Members = slices.DeleteFunc(", "	s.Next = 1\n	s.Members = slices.DeleteFunc(", setTests},
	{"N2", "a survivor's set ignores that another dropped it later", "internal/identity/numbers/numbers.go",
		"		s.raise(begun.Next, begun.Removed)\n", "		s.raise(0, begun.Removed)\n", mergeTests},
	{"N2", "a recovered grid has no sets", "internal/roster/command.go", "		Registry:   f.Registry,\n",
		"		Registry:   numbers.Registry{Dropped: f.Dropped},\n", setTests},
	{"N3", "a registration does not need the code", "internal/identity/numbers/apply.go",
		"	case !p.Code.IsZero() && p.Code != g.Code:", "	case p.Code.IsZero() && g.Code.IsZero():", setTests},
	{"N3", "an imported number takes the code of each registration", "internal/identity/numbers/apply.go",
		"	p.Code, p.Member = g.Code, g.Member", "	p.Member = g.Member", setTests},
	{"N3", "a new process has the incarnation of the one before", "internal/identity/numbers/apply.go",
		"if p.Incarnation = max(p.Incarnation, s.Removed) + 1; p.Incarnation >= MaxNumber",
		"if p.Incarnation+1 >= MaxNumber", setTests},
	{"N2", "a dropped set begins again", "internal/identity/numbers/dropped.go",
		"		s.Next, s.Removed = r.Dropped[at].Next, r.Dropped[at].Removed\n", "		_ = at\n", dropTests},
	{"N2", "a set with numbers is dropped", "internal/identity/numbers/dropped.go", "	case len(r.Sets[at].Members) > 0:",
		"	case len(r.Sets[at].Members) > 99:", dropTests},
	{"N2", "a set that is dropped again forgets the first time", "internal/identity/numbers/dropped.go",
		"max(out[at].Next, d.Next)",
		"d.Next", dropTests},
	{"N2", "a recovered grid forgets dropped sets", "internal/roster/command.go", "		Registry:   f.Registry,\n",
		"		Registry:   numbers.Registry{Sets: f.Sets},\n",
		dropTests},
	{"N3", "a caller takes a number to any incarnation", "internal/identity/numbers/apply.go",
		"	if g.Incarnation > given+maxLost {", "	if g.Incarnation > MaxNumber {", hostileTests},
	{"R6", "a command leads to a roster that no member reads", "internal/roster/command.go", "	if next != r {\n		if err",
		"	if next == nil {\n		if err", []string{"./internal/roster", "-run", "Unreadable"}},
	{"N3", "a repeated registration fences itself", "internal/identity/numbers/apply.go", "	if g.Start != p.Start {",
		"	if g.Start != p.Before {", setTests},
	{"N3", "a late registration of the process before takes over", "internal/identity/numbers/apply.go",
		" || g.Start == p.Before):", "):", setTests},
	{"N3", "an old incarnation registers again", "internal/identity/numbers/apply.go",
		"g.Incarnation > 0 && g.Incarnation < p.Incarnation ||", "", setTests},
	{"N3", "an incarnation that the grid has lost is given again", "internal/identity/numbers/apply.go",
		"	p.Incarnation = max(p.Incarnation, g.Incarnation)\n", "", setTests},
	{"N3", "a restored number begins with the incarnations of the removed process", "internal/identity/numbers/apply.go",
		"max(p.Incarnation, s.Removed) + 1;", "p.Incarnation + 1;", setTests},
	{"N3", "an import lacks the incarnations of the lost grid", "internal/identity/numbers/apply.go",
		"s.raise(in.Next, in.Incarnation)", "s.raise(in.Next, 0)", setTests},
	{"N4", "a process that registered meanwhile is removed", "internal/identity/numbers/apply.go",
		"found && p.Incarnation != c.Incarnation {", "found && p.Incarnation < c.Incarnation {", setTests},
	{"N4", "a new leader takes every client for gone", "internal/identity/numbers/tracker.go",
		"	if t.v.Now-t.began < aliveFor {",
		"	if t.v.Now < t.began {", numberTests},
	{"N4", "a leader that was paused takes every client for gone", "internal/identity/numbers/tracker.go",
		"if !t.running || v.Now-t.v.Now > SignEvery {", "if !t.running {", numberTests},
	{"N4", "a member that gossip sees is gone", "internal/identity/numbers/tracker.go",
		"	if p.Member != \"\" && t.v.Sees(p.Member) {", "	if p.Member == \"-\" {", numberTests},
	{"N4", "the living are removed", "internal/identity/numbers/tracker.go", "	if len(alive) > 0 && !force {",
		"	if len(alive) > 99 {", numberTests},
	{"N4", "a repeated clean does not look again", "internal/identity/numbers/tracker.go", "ids, force, tries-1, reply)",
		"ids, true, tries-1, reply)", numberTests},
	{"N3", "a survivor's greatest removed incarnation is forgotten", "internal/identity/numbers/numbers.go",
		"max(s.Removed, removed)", "s.Removed", []string{"./internal/identity/numbers", "-run", "GreatestRemoved"}},
	{"N2", "data directories recover a grid without its sets", "internal/recovery/recovery.go",
		"Registry: old.Registry, ", "",
		[]string{"./grid", "-run", "TestNumbersSurviveARecovery"}},
	{"N5", "an owner attaches whatever process it is", "grid/internal/host/calls.go",
		"	return d.checkIdentity(in.Identity)\n", "	_ = d.checkIdentity(in.Identity)\n	return nil\n", replacedTests},
	{"N5", "an owner renews whatever process it is", "grid/internal/host/renew.go",
		"	if err := h.checkIdentity(in.Identity); err != nil {",
		"	if err := h.checkIdentity(in.Identity); err != nil && h == nil {", replacedTests},
	{"N2", "survivors recover a grid without its sets", "internal/recovery/memory.go", "		Registry: registry, Quotas",
		"		Quotas", []string{"./grid/gridtest", "-run", "TestSetsAfterARecovery"}},
	{"N5", "an earlier incarnation is served", "internal/identity/numbers/numbers.go",
		"	case incarnation < p.Incarnation:",
		"	case incarnation == 0:", setTests},
	{"N5", "a removed number is served", "internal/identity/numbers/numbers.go", "	case !found:\n		return notRegistered",
		"	case !found && id == 0:\n		return notRegistered", setTests},
}
