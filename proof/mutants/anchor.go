package main

// anchorRosterTests guard the commands of anchored grids, and anchorTests the machine of
// the record.
var (
	anchorRosterTests = []string{"./internal/roster", "-run", "Anchor|Reset|Claim|Limit"}
	anchorTests       = []string{"./internal/leader/anchor"}
	survivorTests     = []string{"./internal/leader/anchor", "-run", "Registered|EarlierClaim|AfterARefusal"}
)

// anchorMutants weaken the rules of anchored grids: a record of a store outside the grid
// limits the ceiling.
var anchorMutants = []mutant{
	{"A2", "a raise goes beyond the limit of the record", "internal/roster/anchor.go", "ceiling = min(ceiling, t.Limit)", "_ = t.Limit", anchorRosterTests},
	{"A2", "a command of another claim counts", "internal/roster/anchor.go", "	case c.Claim != r.Claim:\n		return refused", "	case c.Claim != r.Claim && c.Reset != nil:\n		return refused", anchorRosterTests},
	{"A2", "grants of an earlier grid go beyond the limit", "internal/roster/anchor.go", "case r.Claim != \"\" && granted > limit:", "case granted < 0:", anchorRosterTests},
	{"A5", "a reset forgets the limit that was found", "internal/roster/anchor.go", "floor := max(r.granted(), c.Found)", "floor := r.granted()", anchorRosterTests},
	{"A5", "a reset forgets the own ceiling", "internal/roster/anchor.go", "floor := max(r.granted(), c.Found)", "floor := c.Found", anchorRosterTests},
	{"A5", "a reset keeps the owners", "internal/roster/anchor.go", "next.Partitions[id] = Partition{Term", "next.Partitions[id] = Partition{Owner: p.Owner, InSync: p.InSync, Term", anchorRosterTests},
	{"A5", "a reset is not a loss", "internal/roster/anchor.go", "Floor: floor, LostTerm: Term(next.Version), Disk: p.Disk}", "Floor: floor, LostTerm: p.LostTerm, Disk: p.Disk}", anchorRosterTests},
	{"A5", "a reset does not register the leader", "internal/roster/anchor.go", "next.Members = membersAfter(r.Members, registered.Join, out)", "_ = out", anchorRosterTests},
	{"A5", "the floor of a reset is lost with the first owner", "internal/roster/reassign.go", "floor = max(was.Floor, granted)", "floor = granted", anchorRosterTests},
	{"A8", "a stopped grid takes other commands than a reset", "internal/roster/anchor.go", "case r.Claim != \"\" && r.Stopped > 0 && c.Reset == nil:", "case false:", anchorRosterTests},
	{"A1", "ceiling of any claim gives authority", "internal/leader/anchor/authority.go", "if seen.Claim == r.Claim && seen.Claim != \"\" {", "if seen.Claim != \"\" {", anchoredTests("ceiling of any claim gives authority")},
	{"A1", "raised when the swap was sent", "internal/leader/anchor/authority.go", "	return a.swap(Extend, r, seen, r.Claim,", "	a.allow(r.Claim, ceiling)\n	return a.swap(Extend, r, seen, r.Claim,", anchoredTests("raised when the swap was sent")},
	{"A3", "a restart continues under the claim of its log", "internal/leader/anchor/authority.go", "	_, member := r.Member(a.Self)\n	return member && r.Claim", "	return r.Claim", anchoredTests("a restart continues under the claim of its log")},
	{"A5", "floor of a reset is the own ceiling", "internal/roster/anchor.go", "floor := max(r.granted(), c.Found)", "floor := r.granted()", anchoredTests("floor of a reset is the own ceiling")},
	{"A5", "floor of a reset is the limit that was found", "internal/roster/anchor.go", "floor := max(r.granted(), c.Found)", "floor := c.Found", anchoredTests("floor of a reset is the limit that was found")},
	{"A4", "a take writes a limit below the own ceiling", "internal/leader/anchor/authority.go", "Ceiling: max(seen.Record.Ceiling, r.Ceiling)}", "Ceiling: seen.Record.Ceiling}", anchoredTests("a take writes a limit below the own ceiling")},
	{"A5", "a reset keeps the partitions", "internal/roster/anchor.go", "next.Partitions[id] = Partition{Term: Term(next.Version), Floor: floor, LostTerm: Term(next.Version), Disk: p.Disk}", "next.Partitions[id] = p", anchoredTests("a reset keeps the partitions")},
	{"A5", "a stop counts for more than the record", "internal/roster/anchor.go", "floor := max(r.granted(), c.Found)", "floor := max(r.granted(), c.Found)\n	if r.Stopped > 0 {\n		floor = r.Stopped\n	}", anchoredTests("a stop counts for more than the record")},
	{"A8", "the limit is lowered before the stop", "internal/leader/anchor/authority.go", "case r.Stopped == 0 || to < r.Stopped:", "case to < r.Stopped:", anchoredTests("the limit is lowered before the stop")},
	{"A8", "a raise after the stop", "internal/roster/anchor.go", "case r.Claim != \"\" && r.Stopped > 0 && c.Reset == nil:", "case false:", anchorRosterTests},
	{"A1", "a swap without an answer is taken for one that happened", "internal/leader/anchor/machine.go", "	if out.Err == nil && step.Swap != nil {", "	if step.Swap != nil {", anchorTests},
	{"A4", "a record that was deleted is created again", "internal/leader/anchor/authority.go", "if seen.Absent() && r.Claim != \"\" {", "if seen.Absent() && r.Claim == \"-\" {", anchorTests},
	{"A4", "a leader creates a deleted record on its own", "internal/leader/anchor/machine.go", "	case Missing:\n		if !m.forced {", "	case Missing:\n		if m.forced {", anchorTests},
	{"A5", "a reset of a take that is not known to have happened", "internal/leader/anchor/authority.go", "if !t.Known || t.Version", "if t.Claim == \"\" || t.Version", anchorTests},
	{"A6", "the limit is lowered by an extension", "internal/leader/anchor/authority.go", "case ceiling <= seen.Record.Ceiling:", "case ceiling < 0:", []string{"./internal/leader/anchor", "-run", "Extend|Lower|Refus"}},
	{"A6", "the record of another claim is extended", "internal/leader/anchor/authority.go", "	case seen.Record.Claim != r.Claim:\n		return Swap{}, fmt.Errorf(\"%w: the record is of claim %s and the roster of %s\", ErrNotAllowed, seen.Record.Claim, r.Claim)\n	case ceiling", "	case ceiling", []string{"./internal/leader/anchor", "-run", "Extend|Lower|Refus"}},
	{"A7", "a record that was taken is taken back immediately", "internal/leader/anchor/machine.go", "return !m.Registered(v.Roster) && v.Wall", "return m.Registered(v.Roster) || v.Wall", anchorTests},
	{"A7", "a life that begins takes the record of one that runs", "internal/leader/anchor/machine.go", "v.Wall >= m.seen.Record.Ceiling && settled\n", "v.Wall > 0 || settled\n", anchorTests},
	{"A7", "the limit follows a clock that is far ahead", "internal/leader/anchor/machine.go", "to = min(to, r.Ceiling.Add(ahead+clustertime.SpanOf(jumpLimit)))", "_ = jumpLimit", anchorTests},
	{"A2", "an anchored grid acts before its anchor is taken", "internal/roster/anchor.go", "case r.Anchored && r.Claim == \"\" && c.Reset == nil:", "case false:", anchorRosterTests},
	{"A2", "floors go above earlier grants before the record says so", "internal/leader/planning.go", "if v.Roster.Claim != \"\" && s.Granted > s.Limit {", "if s.Limit < 0 {", leaderTests},
	{"A3", "a member of a roster without a claim has taken the record", "internal/leader/anchor/authority.go", "return member && r.Claim != \"\"", "return member", survivorTests},
	{"A1", "a limit of an earlier claim counts", "internal/leader/anchor/authority.go", "		a.Claim, a.Ceiling = claim, 0\n", "		a.Claim = claim\n", survivorTests},
	{"A6", "the record of before a refusal counts", "internal/leader/anchor/machine.go", "		m.known, m.next = false, v.Mono\n", "		_ = v\n", survivorTests},
	{"A3", "a leader that is not a member acts before its reset", "internal/leader/anchoring.go", "	return x.machine.Registered(v.Roster)\n}\n\n// claims", "	return true\n}\n\n// claims", leaderTests},
	{"A3", "a protocol is proposed before the reset", "internal/leader/protocol.go", "	case !x.claimant.claims(v.Roster):\n", "", leaderTests},
	{"A3", "a disk is forgotten before the reset", "internal/leader/forget.go", "	if !x.claimant.claims(v.Roster) {", "	if !x.claimant.claims(v.Roster) && len(v.Peers) == 0 {", leaderTests},
	{"A3", "settings change before the reset", "internal/leader/settings.go", "err == nil && !x.claimant.claims(v.Roster)", "err == nil && v.Roster == nil", leaderTests},
	{"A3", "a number is given before the reset", "internal/leader/numbers.go", "	case !n.claimant.claims(v.Roster):\n		reply(v, false, errUnclaimed)\n", "", leaderTests},
	{"A3", "a leader that is not a member keeps the lead from one that is", "internal/leader/anchoring.go", "if !x.machine.Registered(v.Roster) && x.yields(v.View) {", "if x.machine == nil {", leaderTests},
	{"A9", "a member of another claim counts as answering", "internal/leader/detector.go", "if err == nil && a.foreign(v.Roster) {", "if err == nil && a.foreign(v.Roster) && v.Mono < 0 {", leaderTests},
	{"A9", "a member of another claim answers pushes", "internal/leader/pushanswers.go", "c == nil || a.foreign(v.Roster) {", "c == nil {", leaderTests},
	{"A9", "a member of another claim joins", "internal/leader/join.go", "	case a.foreign(r):\n", "	case a.foreign(r) && len(r.Members) == 0:\n", leaderTests},
	{"A9", "the identity of a member of another claim is in use", "internal/leader/join.go", "if err == nil && !a.foreign(v.Roster) {", "if err == nil {", leaderTests},
	{"A9", "a Raft stream of another claim counts", "internal/roster/anchor.go", "&& of != r.Claim", "&& of == \"\"", []string{"./grid", "-run", "RaftStreamsOfOtherClaims"}},
	{"A9", "a process that has just started takes no call of another claim", "internal/roster/anchor.go", "return registered && r.Claim", "return r.Claim", []string{"./grid/internal/api", "-run", "Claims"}},
	{"A9", "a Raft stream states no claim", "grid/internal/transport/raftstream.go", "Preamble{Grid: s.grid, Claim: claim, Target: id, Release: s.releases.Own()}", "Preamble{Grid: s.grid, Target: id, Release: s.releases.Own()}", streamTests},
	{"A9", "Raft streams of an earlier claim stay", "grid/internal/transport/raftclaims.go", "if conn.claim != own {", "if conn.claim != own && len(others) < 0 {", streamTests},
	{"A9", "a call of another claim counts", "grid/internal/api/api.go", "c.members && !c.anyClaim && r.Refuses", "c.members && c.anyClaim && r.Refuses", []string{"./grid/internal/api", "-run", "Claims"}},
	{"A9", "floors of an anchored grid go up on a holder's word", "partition/earlierrun.go", "	case r.Claim != \"\":\n		return contained\n", "", []string{"./partition", "-run", "GrantsOfOtherClaims"}},
	{"A9", "a member serves a holder of a later claim than it knows", "partition/earlierrun.go", "r.Claim != \"\" && until > r.Ceiling:", "r.Claim != \"\" && until < 0:", []string{"./partition", "-run", "GrantsOfOtherClaims"}},
	{"A9", "an owner that was replaced unheard ends a life of a later claim", "partition/earlierrun.go", "v.Roster.Ceiling < v.Time.Add(v.Roster.Settings.Window/2)", "v.Time < 0", []string{"./partition", "-run", "HolderOfALaterClaim"}},
	{"A9", "messages under each claim name one grid", "internal/roster/anchor.go", "g[i] ^= b", "g[i] ^= b & 0", anchorRosterTests},
}
