package main

// leaderTests are beside the rules of the leader.
var leaderTests = []string{"./leader"}

// leaderMutants weaken the decisions of the grid's leader.
var leaderMutants = []mutant{
	{"R1", "the rounds of a raise are missing from cluster time", "leader/raise.go", "	case v.Raised.Time == c.last.Time:\n", "	case v.Raised.Time < 0:\n", []string{"./grid/gridtest", "-run", "MostClocksAreBehind"}},
	{"R1", "a leader that has just started ignores the cluster time of before", "leader/raise.go", "t = max(t, v.Roster.Time, read.known)", "t = max(t, read.known)", leaderTests},
	{"R1", "a raise that failed ends the raises", "leader/raise.go", "	c.proposing = false\n	if err", "	c.proposing = err != nil\n	if err", leaderTests},
	{"R1", "a clock of an earlier round counts", "leader/raise.go", "if read == nil || read.round != p.round {", "if read == nil {", leaderTests},
	{"S1", "the ceiling is raised before a restart's losses", "leader/raise.go", "|| r.Stopped > 0 ||", "||", leaderTests},

	{"R5", "the leader takes an admission over to a later version", "leader/requests.go", "return version == r.Version && r.Partitions[id].Owner == owner, nil", "return r.Partitions[id].Owner == owner, nil", leaderTests},
	{"R5", "any member has a joiner admitted", "leader/requests.go", "return version == r.Version && r.Partitions[id].Owner == owner, nil", "return version == r.Version, nil", leaderTests},
	{"R5", "an admission of an earlier version is kept", "leader/requests.go", "		if at < version {\n			delete(q.held, r)\n		} else {\n			out = append(out, roster.Holding{Replica: r, Version: at})", "		{\n			out = append(out, roster.Holding{Replica: r, Version: max(at, version)})", leaderTests},

	{"R7", "gossip's word alone ends a member", "leader/detector.go", "	return c.failing && now-c.since >= deadAfter+extra(seen) || c.absent && !seen", "	return !seen", leaderTests},
	{"R7", "the dead are not removed", "leader/detector.go", "	return c.failing && now-c.since >= deadAfter+extra(seen) || c.absent && !seen", "	return c.failing && now < c.since", leaderTests},
	{"R7", "a member that is silent for long is not removed while gossip sees it", "leader/detector.go", "	return c.failing && now-c.since >= deadAfter+extra(seen) || c.absent && !seen", "	return !seen && (c.failing && now-c.since >= deadAfter || c.absent)", leaderTests},
	{"R7", "one refused call makes a member suspect that gossip sees", "leader/refusals.go", "r.refused && r.last-r.first >= refusedApart", "r.refused", leaderTests},
	{"R7", "refusals of before an answer count", "leader/refusals.go", "		r.refused = false\n", "", leaderTests},
	{"R7", "two refused calls end a member that gossip sees", "leader/detector.go", "deadAfter+extra(seen) || c.absent && !seen", "deadAfter+extra(seen) || c.absent && (!seen || c.refused.Prove())", leaderTests},
	{"R7", "a leader that stood still suspects all members", "leader/detector.go", "c.failing && c.failures >= suspectFailures && now", "c.failing && now", leaderTests},
	{"R7", "a voter stands against a leader that is slow", "leader/candidacy.go", "	case c.refusals.Prove():", "	case c.refusals.Prove() || c.tries == candidacyTries:", leaderTests},
	{"R7", "a member that lags answers", "leader/detector.go", "err == nil && !lags {", "err == nil || lags {", leaderTests},
	{"R7", "a probe of before a member was removed counts", "leader/detector.go", "if c == nil || c.round != p.round {", "if c == nil {", leaderTests},
	{"R8", "a leader is not in its own roster", "leader/requests.go", "if _, in := v.Roster.Member(l.self); !in {", "if _, in := v.Roster.Member(l.self); !in && v.Mono < 0 {", []string{"./grid", "-run", "TestAnswers$"}},

	{"votes", "a vote is given to a dead member", "leader/voters.go", "if i := slices.IndexFunc(e.idle, answers); i >= 0 {", "if i := 0; i >= 0 {", leaderTests},
	{"votes", "the vote of the only voter that answers is taken", "leader/voters.go",
		"	if i := slices.IndexFunc(spare, func(s Server) bool { return !answers(s) }); i >= 0 {\n		return spare[i], e.agreesWithout(spare[i], answers)\n	}\n	if e.passing && len(e.leavers) == 0 {\n		return Server{}, false\n	}\n	return spare[0], e.agreesWithout(spare[0], answers)",
		"	return spare[0], true", leaderTests},
	{"votes", "the lead is passed to a voter that does not answer", "leader/succession.go",
		"			l.probe(v, p.Incarnation, p.API, forSuccession, s.round)\n", "			if !s.transferring {\n				s.transferring = true\n				l.member.TransferLead(server.ID)\n			}\n", leaderTests},
	{"votes", "a vote is taken without a majority of the rest", "leader/voters.go", "return spare[0], e.agreesWithout(spare[0], answers)", "return spare[0], true", leaderTests},
	{"votes", "the vote of a silent voter is taken without a majority of the rest", "leader/voters.go", "return spare[i], e.agreesWithout(spare[i], answers)", "return spare[i], true", leaderTests},
	{"votes", "a voter is removed without a majority of the rest", "leader/voters.go", "return s, !s.Voter || e.agreesWithout(s, reached)", "return s, true", leaderTests},
	{"votes", "a dead voter with a disk is removed before another takes its place", "leader/voters.go", "len(e.remove) > 0 && (e.absent == 0 || e.voting >= e.want)", "len(e.remove) > 0", leaderTests},
	{"votes", "a leader that leaves takes votes of those that stay", "leader/voters.go", "if e.passing && len(e.leavers) == 0 {", "if false {", leaderTests},
	{"votes", "a survey of other processes counts", "leader/voters.go", "if _, probed := asked.answered[p.Incarnation]; !probed {", "if _, probed := asked.answered[p.Incarnation]; !probed && v.Mono < 0 {", leaderTests},
	{"votes", "votes are kept for good by those that leave", "leader/departures.go", "	return leaves && now-since < voteAwaited", "	return leaves && now >= since", leaderTests},
	{"votes", "a leader that leaves keeps the lead", "leader/succession.go", "if v.Leaving && l.voters.succession == nil {", "if v.Mono < 0 && l.voters.succession == nil {", leaderTests},
	{"S1", "a voter that leaves loses its vote immediately", "leader/departures.go", "return leaves && now-since < voteKept", "return leaves && now < since", leaderTests},
	{"B2", "a server that forgot its votes comes back", "leader/servers.go", "	if durable {\n		return ServerID(i.Member())", "	if durable || i != \"\" {\n		return ServerID(i.Member())", leaderTests},
	{"joins", "a member joins that is no Raft server", "leader/servers.go", "		if v.serves(j.server()) {\n			out", "		if j.at >= 0 {\n			out", leaderTests},

	{"clone", "another incarnation is let in while the registered one answers", "leader/join.go", "case !found || other.Incarnation == in.Incarnation:", "case !found || in.Incarnation != \"\":", leaderTests},
	{"clone", "an incarnation that does not answer keeps its place", "leader/join.go", "		return true, l.admit(v, join{member: in, release: release, instead: other.Incarnation})\n", "		return true, inUse(other)\n", leaderTests},
	{"clone", "a request to join counts against another incarnation than was asked", "leader/requests.go", "other.Incarnation != j.instead", "false", leaderTests},

	{"votes", "a leader that was replaced lets a member leave", "grid/leadcalls.go", "			if err := o.confirm(); err != nil {", "			if err := o.confirm(); err != nil && ctx.Err() != nil {", []string{"./grid", "-run", "TestDeposedLeaderLets"}},
	{"votes", "a voter that has crashed a moment ago counts as one that stays", "leader/departures.go", "c != nil && !c.failing && c.answered >= since", "c == nil || !c.failing", leaderTests},
	{"votes", "a voter that leaves waits for the next round of probes", "leader/departures.go", "		l.detector.wanted = v.Mono\n", "", leaderTests},
	{"R11", "a member leaves on any word", "leader/leave.go", "		if err := confirmsLeave(inc, failed, a); err != nil {", "		if err := confirmsLeave(inc, failed, a); err != nil && a.Wall < 0 {", []string{"./grid", "-run", "TestOnlyTheSender"}},
	{"R11", "a disk has failed on any word", "leader/leave.go", "	case failed && !a.DiskFailed:", "	case false:", leaderTests},
	{"R11", "a member that does not answer leaves", "leader/leave.go", "		if err != nil {\n			return true, silent(inc, m.API, err)\n		}\n		if err := confirmsLeave(inc, failed, a); err != nil {", "		if err := confirmsLeave(inc, failed, a); err != nil && a.Record.API != \"\" {", leaderTests},
	{"R11", "a member joins that does not answer", "leader/join.go", "		if err != nil {\n			return true, silent(in.Incarnation, in.API, err)\n		}\n		if err := confirmsJoin(in, l.cfg.Grid, v.Roster, a); err != nil {", "		if err := confirmsJoin(in, l.cfg.Grid, v.Roster, a); err != nil && v.Mono < 0 {", leaderTests},
	{"R11", "a join as another says it", "leader/join.go", "	case a.Record != in:", "	case false:", leaderTests},
	{"R11", "as many are asked as requests name", "leader/inquiry.go", "(seen || unseen < inquiriesUnseen)", "(seen || unseen >= 0)", leaderTests},
	{"R11", "those that left are remembered", "leader/requests.go", "		if !has(inc) {\n", "		if !has(inc) && inc == \"\" {\n", leaderTests},

	{"D10", "the disk of a member that runs is given up", "leader/forget.go", "	if m, found := registered(v.Roster, id); found {\n", "	if m, found := registered(v.Roster, id); found && id == \"\" {\n", leaderTests},
	{"D10", "the last disk is given up without confirmation", "leader/forget.go", "case f.out.Lost > 0 && !f.in.LoseDefinitions:", "case f.out.Lost > f.out.Partitions:", leaderTests},
}

// leaderUnseen are those that the simulation cannot kill, and why.
var leaderUnseen = map[string]string{
	"one refused call makes a member suspect that gossip sees":             "a suspect costs a move, and only replicas in sync take over",
	"refusals of before an answer count":                                   "a suspect costs a move, and only replicas in sync take over",
	"a leader that stood still suspects all members":                       "a suspect costs a move, and only replicas in sync take over",
	"a voter stands against a leader that is slow":                         "the simulation elects by itself: a candidacy is no part of it",
	"the rounds of a raise are missing from cluster time":                  "cluster time that is slow costs a wait, and the simulation bounds waits in the quiet only",
	"a leader that has just started ignores the cluster time of before":    "the roster's time never goes back, and the voters' clocks catch up before the quiet ends",
	"a clock of an earlier round counts":                                   "a clock that is late by a round is behind, and the median hides it",
	"the ceiling is raised before a restart's losses":                      "few of its grids stop in order",
	"any member has a joiner admitted":                                     "only owners report",
	"a member that is silent for long is not removed while gossip sees it": "its partitions go to backups, and gossip loses sight of it before long",
	"a survey of other processes counts":                                   "no member starts again within the time of a survey, between two voters",
	"a probe of before a member was removed counts":                        "a probe is over before its member is admitted again",
	"a dead voter with a disk is removed before another takes its place":   "it costs a vote that a second crash would need, and the simulation has no such crash",
	"a leader that leaves takes votes of those that stay":                  "no leader of the simulation crashes while it leaves and a majority depends on it",
	"a server that forgot its votes comes back":                            "a machine of the simulation that has lost its memory is another one",
	"votes are kept for good by those that leave":                          "the voters that stay are a majority without the leaver nearly always, and wait for another time then",
	"a member joins that is no Raft server":                                "it becomes one a moment later",

	"another incarnation is let in while the registered one answers":      "no data directory is copied",
	"an incarnation that does not answer keeps its place":                 "the leader removes it for another reason",
	"a request to join counts against another incarnation than was asked": "no data directory is copied",
	"a member leaves on any word":                                         "every request is its sender's own",
	"a disk has failed on any word":                                       "no member reports a failed disk",
	"a member that does not answer leaves":                                "every request is its sender's own",
	"a member joins that does not answer":                                 "every request is its sender's own",
	"a join as another says it":                                           "every request is its sender's own",
	"as many are asked as requests name":                                  "few members ask at a time",
	"those that left are remembered":                                      "no start of a member comes back that has left",
	"the disk of a member that runs is given up":                          "no operator asks for it",
	"the last disk is given up without confirmation":                      "operators confirm every request",
}
