package main

// removalTests cover a member that an operator removes, in a whole grid.
var removalTests = []string{"./grid/gridtest", "-run", "TestMembersRemove"}

// voterMutants weaken the rules for changes to the number of voters, for spreading votes over
// zones, and for removing a member.
var voterMutants = []mutant{
	{"votes", "a grid of five voters begins with three", "internal/leader/planning.go",
		"voters >= VotersFor(want, v.Roster.Settings.MostVoters())", "voters >= VotersFor(want, 3)", leaderTests},
	{"votes", "there are never more than three voters", "internal/leader/voters.go",
		"VotersFor(len(stays)+e.absent, v.Roster.Settings.MostVoters())", "VotersFor(len(stays)+e.absent, 3)", leaderTests},
	{"votes", "an even number of members votes", "internal/leader/servers.go", "votes-(votes+1)%2", "votes", leaderTests},

	{"votes", "a voter cannot leave while two of five are absent", "internal/leader/voters.go", "overdue && !majority {",
		"overdue && majority {", leaderTests},
	{"votes", "the votes of the absent are given up although the rest is a majority", "internal/leader/voters.go",
		"overdue && !majority {", "overdue && (majority || !majority) {", leaderTests},

	{"votes", "a voter cannot leave beside one that gossip does not see", "internal/leader/voters.go",
		"return answers(s) || seen && asked", "return s.ID == m.server || seen && asked", leaderTests},
	{"votes", "a voter that gossip does not see is one of the majority that stays", "internal/leader/departures.go",
		"seen || s.ID == m.server {", "seen || s.ID != \"\" {", leaderTests},
	{"alerts", "a quorum is lost that has a leader", "grid/alertchecks.go",
		`s.Leader == "" && s.VotersAlive`, `(s.Leader == "" || s.Leader != "") && s.VotersAlive`,
		[]string{"./grid", "-run", "TestAlerts"}},

	{"zones", "votes move between zones without end", "internal/leader/zones.go", "return e.crowd(goes)-e.crowd(s) >= 2",
		"return e.crowd(goes)-e.crowd(s) >= 1", leaderTests},
	{"zones", "votes stay in one zone", "internal/leader/zones.go", "len(e.servers()) < 2",
		"len(e.servers()) < 9", leaderTests},
	{"zones", "a vote moves to a member that does not answer", "internal/leader/voters.go",
		"return e.spreads(s) && answers(s)", "return e.spreads(s)", leaderTests},
	{"zones", "the fullest zone keeps its votes", "internal/leader/voters.go",
		"cmp.Or(rank(b)-rank(a), e.crowd(b)-e.crowd(a))", "cmp.Or(rank(b)-rank(a), e.crowd(a)-e.crowd(b))", leaderTests},

	{"removal", "a voter is taken out without a majority of the rest", "internal/leader/removal.go",
		"if len(rest.voters) == 1 || rest.agreesWithout(gone, stays) {", "if gone.Voter {", leaderTests},
	{"removal", "a voter that leaves counts as one of the rest", "internal/leader/removal.go",
		"answers(m.Incarnation) && !x.admission.isLeaving(v, m.Incarnation)\n", "answers(m.Incarnation)\n", leaderTests},
	{"removal", "the only voter cannot be taken out", "internal/leader/removal.go", "if len(rest.voters) == 1 || rest",
		"if rest", leaderTests},
	{"removal", "the last disk of a dead member is given up unasked", "internal/leader/removal.go", "r.id); alone > 0 {",
		"r.id); alone > named {", leaderTests},
	{"removal", "the only member with a disk is taken out", "internal/leader/removal.go", "	case alone > 0 && disks == 0:",
		"	case alone > 0 && disks < 0:", leaderTests},
	{"removal", "the only member is taken out", "internal/leader/removal.go", "	case others == 0:", "	case others < 0:",
		leaderTests},
	{"removal", "a silent member is told to leave", "internal/leader/removal.go",
		"case member && !answers(m.Incarnation):", "case member && served && server.ID == \"\":", leaderTests},
	{"removal", "a member leaves that has not confirmed it", "internal/leader/removal.go",
		"	if err != nil {\n		x.answer(x.open[i], failure.Errorf(ErrUnavailable,\n			\"grid: member %s was told",
		"	x.admission.leaves[d.To] = true\n	if err != nil {\n		x.answer(x.open[i], failure.Errorf(ErrUnavailable,\n" +
			"			\"grid: member %s was told", leaderTests},
	{"removal", "the vote of a removed member is kept", "internal/leader/electorate.go", "!x.surrenders[s.ID] && ", "",
		leaderTests},
	{"removal", "a vote that is given up is remembered", "internal/leader/removal.go", "return member || !v.serves(id)",
		"return member", leaderTests},
	{"removal", "a member that is taken out is not told", "grid/removemember.go",
		"err = l.of.caller.Call(l.ctx, d.API, d.To, wire.PathDismiss, wire.DismissRequest{}, &wire.DismissResponse{})",
		"err = l.ctx.Err()", removalTests},
}
