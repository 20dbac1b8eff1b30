package main

// followed runs the explorer on the scope of a mutant about followers, in which it has to find a
// broken rule, or a tick that two owners may grant.
func followed(scope string) []string {
	return append(scopeTests("TestFollowMutantScopes", scope), "-follow-states", "500000")
}

var (
	followTests = []string{"./internal/roster/follow"}
	pushTests   = []string{"./grid/internal/raftlog", "-run", "Push"}
	ageTests    = []string{"./grid", "-run", "TestAgeOfAPush"}
	farTests    = []string{"./grid/gridtest", "-run", "TestFarMembers"}
	logRaises   = []string{"./grid/internal/raftlog", "-run", "TestRaisesOfTheLog"}
)

// followMutants weaken the rules for members that follow committed rosters.
var followMutants = []mutant{
	{"F2", "a roster of another grid is adopted", "internal/roster/follow/follow.go",
		"	if grid != f.grid {\n		return false, ErrForeign\n	}\n	if i.At <= f.served.At {\n		return false, nil\n	}\n	if err " +
			":= f.check(i); err != nil {\n		return false, err\n	}", "	if i.At <= f.served.At {\n		return false, nil\n	}",
		followed("a roster of another grid is adopted")},
	{"F2", "a command of another grid is adopted", "internal/roster/follow/follow.go",
		"	case grid != f.grid:\n		return false, ErrForeign\n	case e.At", "	case e.At", followTests},
	{"F2", "a roster with another grid's ID is adopted", "internal/roster/follow/follow.go",
		"r.Formed() && r.Grid != f.grid", "false", followTests},
	{"F2", "version and ceiling of a later roster may go back", "internal/roster/follow/follow.go",
		"r.Version < f.served.Roster.Version || r.Ceiling < f.served.Roster.Ceiling", "false", followTests},
	{"F2", "an earlier roster is adopted", "internal/roster/follow/follow.go",
		"	if i.At <= f.served.At {\n		return false, nil\n	}", "", followTests},
	{"F2", "the served roster goes back to that of the log", "internal/roster/follow/follow.go",
		"	if at <= f.served.At {\n		return false, nil\n	}\n", "", followed("the served roster goes back to that of the log")},
	{"F2", "the served roster goes back to a snapshot", "internal/roster/follow/follow.go",
		"	if i.At < f.served.At {\n		return false\n	}\n", "", followed("the served roster goes back to a snapshot")},
	{"F3", "a command is skipped", "internal/roster/follow/follow.go", "e.After > f.served.At || e.After >= e.At",
		"e.After >= e.At", followed("a command is skipped")},
	{"F3", "a command is skipped, and two owners grant", "internal/roster/follow/follow.go",
		"e.After > f.served.At || e.After >= e.At", "e.After >= e.At",
		followed("a command is skipped, seen by grants alone")},
	{"F3", "an entry does not name the one before it", "internal/roster/follow/follow.go",
		"entry := Entry{After: f.last, At: at", "entry := Entry{After: 0, At: at",
		followed("an entry does not name the one before it")},
	{"F3", "commands behind the kept ones are not missed", "internal/roster/follow/follow.go",
		"return f.recent[i:len(f.recent):len(f.recent)], e.After <= at",
		"return f.recent[i:len(f.recent):len(f.recent)], true", followTests},
	{"F4", "the log's commands are applied to the learned roster", "internal/roster/follow/follow.go",
		"next, err := f.log.Roster.Apply(c)",
		"next, err := f.served.Roster.Apply(c)", followed("the log's commands are applied to the learned roster")},
	{"F4", "a push changes the roster of the log", "internal/roster/follow/follow.go",
		"	f.serve(learned, e)\n	return true, nil",
		"	f.serve(learned, e)\n	f.log.Roster = next\n	return true, nil", followed("a push changes the roster of the log")},
	{"F5", "the time in a push of unknown age counts", "internal/roster/follow/follow.go",
		"return age >= 0 && age < FreshWithin", "return age < FreshWithin", followTests},
	{"F5", "the time in an old push counts", "internal/roster/follow/follow.go",
		"return age >= 0 && age < FreshWithin", "return age >= 0", followTests},
	{"F4", "a snapshot has the learned roster", "grid/internal/raftlog/followed.go", "	return f.follower.Log().Roster\n",
		"	return f.follower.Served().Roster\n", pushTests},
	{"F5", "the time in every push counts", "grid/pushmessages.go", "if follow.Fresh(age) {", "if true {",
		ageTests},
	{"F5", "a push without an echo is new", "grid/pushmessages.go", "answered <= 0 || answered > mono", "answered > mono",
		ageTests},
	{"F5", "a time behind a gap does not count", "grid/internal/raftlog/followed.go",
		"(err == nil || errors.Is(err, follow.ErrGap))", "err == nil", pushTests},
	{"F5", "a time counts under a claim that was given up", "grid/internal/raftlog/followed.go",
		" && !f.gaveUp(served.Roster.Claim) {", " {", []string{"./grid/internal/raftlog", "-run", "TestVoidedClaims"}},
	{"F5", "the clocks follow the raises in the log", "grid/internal/raftlog/followed.go",
		"		f.state.NoteRaise(after.Time)", "		f.state.Advance(after.Time, after.Time)", logRaises},
	{"F5", "an earlier leader's raises count", "grid/internal/raftlog/fsm.go", " || entry.Term < f.term()", "", logRaises},
	{"F5", "a leader's clocks stand still while its raises are agreed on", "grid/leadership.go",
		"SpanOf(l.of.clock.Mono()-began)", "SpanOf(began-began)", farTests},
	{"F5", "a push states the time of the last raise", "grid/internal/state/state.go",
		"return last.Time.Add(clustertime.SpanOf(s.Clock.Mono() - last.At))", "return last.Time",
		[]string{"./grid/gridtest", "-run", "TestMemberStartsBetweenRaises"}},
	{"F5", "a raise runs from the push that brings it", "grid/internal/state/state.go",
		"at := s.Clock.Mono() - max(0, now.Sub(raised)).Duration()", "at := s.Clock.Mono()", pushTests},
	{"F5", "a late push moves a raise on", "grid/internal/state/state.go", " || at < last.At {", " || true {", pushTests},
	{"F6", "a push counts after the member has left the grid", "grid/internal/raftlog/followed.go", "	if f.ended {\n",
		"	if false {\n", pushTests},
	{"F1", "a push of a server that is not the leader counts", "grid/internal/raftlog/followed.go",
		" || id != \"\" && string(id) != p.Leader:", ":", []string{"./grid/gridtest", "-run",
			"TestPushOfAnotherThanTheLeader"}},
	{"F1", "nothing is pushed", "grid/leadership.go", "		l.calls.Go(l.pushChanges)\n", "",
		[]string{"./grid/gridtest", "-run", "TestChangesArePushed"}},
}
