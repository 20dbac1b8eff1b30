package main

// Tests that guard the time to detect an ended or silent member.
var (
	candidacyTests = []string{"./internal/leader", "-run", "Candidacy|Silence|Monitor"}
	awaitedTests   = []string{"./grid/gridtest", "-run", "TestSilentMemberIsReplacedWhenAwaited"}
	crashTests     = []string{"./grid/gridtest", "-run", "TestMovesDoNotStandStill|TestProcessThatHasEnded"}
	reachTests     = []string{"./grid/gridtest", "-run", "TestLeaderThatOneVoterDoesNotReachStays"}
	electionTests  = []string{"./grid/gridtest", "-run", "TestFarVotersElectOne"}
	lateTests      = []string{"./grid/gridtest", "-run", "TestSlowNetworkIsNoSilence|TestLeaderThatIsFarAwayStays"}
	apartTests     = []string{"./internal/leader", "./internal/roster/plan", "-run", "TestReach|Apart"}
	slowDiskTests  = []string{"./grid", "-run", "TestElectionWithSlowDisks"}
	signTests      = []string{"./grid", "./grid/gridtest", "-run", "TestSigns|TestCreateIsServedByTheNextOwner"}
)

// signMutants each remove one line from the failure detection rules.
var signMutants = []mutant{
	{"elections", "no election waits for slow disks", "grid/internal/raftlog/pace.go", "	if writes <= p.quick {", "	if writes >= 0 {", slowDiskTests},
	{"elections", "a vote is awaited no longer than other answers", "grid/internal/transport/raftstream.go", "limit > RaftCallTimeout {", "limit < 0 {", slowDiskTests},
	{"elections", "one slow write delays elections", "grid/internal/raftlog/writepace.go", "max(min(took, w.last), before*9/10)", "max(took, before*9/10)", []string{"./grid/internal/raftlog", "-run", "WritePace"}},
	{"R4", "a replica that its owner does not reach is waited for", "internal/roster/plan/view.go", "(!up || v.areApart(p.Owner, i))", "!up", apartTests},
	{"R4", "a replica joins that the owner does not reach", "internal/roster/plan/view.go", "|| !v.up[i] || v.areApart(p.Owner, i) })", "|| !v.up[i] })", apartTests},
	{"D2", "an owner that does not reach the named disk stays", "internal/roster/plan/apart.go", "v.current[m]; found {", "v.current[m]; found && m == \"\" {", apartTests},
	{"D2", "an owner that reaches the disks has none in sync", "internal/roster/plan/apart.go", "like(v.durable[b], true) - like(v.durable[a], true)", "like(a, b)", apartTests},
	{"R7", "a member that is cut off accuses others", "internal/leader/reach.go", " && r.heard > m.since {", " {", apartTests},
	{"R7", "a member that stood still accuses others", "internal/leader/reach.go", "		if stood {", "		if stood && now < 0 {", apartTests},
	{"R7", "one probe without an answer is enough", "internal/leader/reach.go", "m.failures >= apartFailures && now-m.since >= apartAfter", "m.failures >= 1", apartTests},
	{"R7", "one answer ends that members are apart", "internal/leader/reach.go", "now-m.answered >= togetherAfter", "now >= m.answered", apartTests},
	{"R7", "a replica is dropped for a member that the leader does not reach", "internal/leader/detector.go", "	return !suspect\n", "	return true || suspect\n", apartTests},
	{"R7", "an owner's report counts without end", "internal/leader/reports.go", "if now-u.at > unreachedKept {", "if now < 0 {", apartTests},
	{"R7", "a leader that one voter does not reach is deposed", "internal/leader/candidacy.go", "silent <= all/2 {", "silent <= all*0 {", candidacyTests},
	{"R7", "a voter that has just heard the leader counts against it", "internal/leader/candidacy.go", "		if d >= suspectAfter {\n			silent++", "		if d >= 0 {\n			silent++", candidacyTests},
	{"R7", "one slow call is silence", "internal/leader/candidacy.go", "c.tries >= suspectFailures && k.Ended-c.silence.Since >= suspectAfter", "c.tries >= 1", candidacyTests},
	{"R7", "silence before a lead makes a member dead", "internal/leader/candidacy.go", "max(s.Since, now-suspectAfter)", "s.Since", candidacyTests},
	{"R7", "silence of long ago counts", "internal/leader/candidacy.go", "s.Calls > 0 && now-s.Last <= silenceLasts", "s.Calls > 0", candidacyTests},
	{"R7", "any leader before is suspect", "internal/leader/candidacy.go", "of == s.Member && s.Calls > 0", "s.Calls > 0", candidacyTests},
	{"R7", "the other voters do not look at a leader that is doubted", "grid/hello.go", "		m.lookout.doubt()\n", "", reachTests},
	{"R7", "a voter does not count the answer to its own look", "internal/leader/monitor.go", "		return min(sinceHeartbeat, now-m.probed.ended)\n", "", reachTests},
	{"signs", "a raise that does not come is no sign", "grid/leadermonitor.go", "		late.Reset(wait)\n", "		late.Stop()\n", []string{"./grid/gridtest", "-run", "TestSilentLeaderIsReplacedBefore"}},
	{"signs", "a leader that leads no longer is taken for well", "internal/leader/candidacy.go", "k.Err == nil && !k.Leads {", "k.Err == nil && k.Leads && !k.Leads {", []string{"./internal/leader", "./grid", "-run", "Candidacy|TestLeaderWithAFailedDisk"}},
	{"signs", "a new leader does not know of the silence", "internal/leader/monitor.go", "func (m *Monitor) RecordSilence(s Silence) { m.silence = s }", "func (m *Monitor) RecordSilence(s Silence) { _ = s }", candidacyTests},
	{"signs", "a leader that is awaited is not looked at", "grid/failuresigns.go", "	case at == string(id):\n		o.lookout.sign()\n", "	case at == string(id):\n", awaitedTests},
	{"signs", "the leader is not told of a member that is awaited", "grid/failuresigns.go", "		o.life.Background(func(ctx context.Context) { o.passOn(ctx, at, in) })\n", "", signTests},
	{"signs", "signs without end are taken in", "grid/failuresigns.go", "known && now-last < signEvery", "known && now < last", signTests},
	{"signs", "signs of members that are gone are kept", "grid/failuresigns.go", "		if now-last >= signEvery {\n			delete(a.last, inc)", "		if now < last {\n			delete(a.last, inc)", signTests},
	{"signs", "gossip finds out by itself that a process has ended", "grid/failuresigns.go", "o.gossip.Suspect(ctx, of); err != nil {", "error(nil); err != nil {", crashTests},
	{"signs", "the leader does not hear of a connection that has broken", "grid/member.go", "	m.http.Broken = m.leadership.disconnected\n", "", crashTests},
	{"signs", "silence of a leader before counts for each lead", "internal/leader/monitor.go", "	m.silence = Silence{}\n", "", candidacyTests},
	{"signs", "a moment without heartbeats is silence", "internal/leader/monitor.go", "sinceHeartbeat >= electionTimeout", "sinceHeartbeat >= 0", candidacyTests},
	{"signs", "the answer of any leader counts", "internal/leader/monitor.go", "leader != \"\" && leader == m.probed.leader", "m.probed.leader != \"\"", candidacyTests},
	{"signs", "the other voters are not told", "internal/leader/candidacy.go", "		next.Tell, c.told, c.toldAt = true, true, k.Ended\n", "		c.told, c.toldAt = true, k.Ended\n", candidacyTests},
	{"signs", "a call that fails early is not told again", "internal/leader/candidacy.go", "due := !c.told || k.Ended-c.toldAt >= suspectAfter/2;", "due := !c.told;", candidacyTests},
	{"signs", "silence of an election that was lost counts later", "internal/leader/monitor.go", "	if s.Member != previous {", "	if s.Member == \"\" {", candidacyTests},
	{"signs", "voters that are far apart stand at the same time", "internal/leader/candidacy.go", "max(candidacyTurn, turnRoundTrips*roundTrip)", "candidacyTurn", []string{"./internal/leader", "./grid/gridtest", "-run", "^TestCandidacy$|TestFarVotersElectOne"}},
	{"signs", "a voter does not know how far the others are", "grid/leadermonitor.go", "candidacy.Turn(farthest)", "candidacy.Turn(0*farthest)", electionTests},
	{"signs", "a voter that has voted for another stands", "internal/leader/candidacy.go", "{ return now-unheard <= c.silence.Last }", "{ return true || now-unheard <= c.silence.Last }", candidacyTests},
	{"signs", "a voter lets its connection to the leader end", "grid/leadermonitor.go", "			k.keepOpen(ctx)\n", "", []string{"./grid/gridtest", "-run", "TestVotersStayConnectedToTheLeader"}},
	{"signs", "voters that are told of a doubt tell each other without end", "internal/leader/candidacy.go", "func (c *Candidacy) Doubted() { c.doubted = true }", "func (c *Candidacy) Doubted() {}", candidacyTests},
	{"signs", "a voter repeats what another one tells", "grid/leadermonitor.go", "		candidacy.Doubted()\n", "", []string{"./grid/gridtest", "-run", "TestDoubtEnds"}},
	{"R7", "a late answer to a look does not count", "grid/leadermonitor.go", "lookTimeout+lateBy)", "lookTimeout)", lateTests},
	{"R7", "a late answer to a probe does not count", "grid/leadership.go", "p.Timeout+lateBy)", "p.Timeout)", lateTests},
	{"signs", "a vote is lost on a stream that has ended", "grid/internal/transport/guardedraft.go", "	for range idleStreams {\n", "	for range 0 {\n", []string{"./grid/internal/transport", "-run", "TestVoteIsAskedFor"}},
	{"create-attach", "an owner that was replaced is waited for", "grid/internal/host/createattach.go", "now.Incarnation != owner.Incarnation {\n				cancel()", "now.Incarnation == \"-\" {\n				cancel()", signTests},
}
