package main

import "slices"

// Tests that guard a rule are next to it, and fast.
var (
	rosterTests  = []string{"./internal/roster/...", "./internal/clustertime"}
	replicaTests = []string{"./backup"}
	tableTests   = []string{"./partition"}
	idTests      = []string{"./sequencer"}
	clientTests  = []string{"./client", "./internal/calls"}
	sessionTests = []string{"./internal/session"}
	streamTests  = []string{"./grid/internal/transport", "-run", "RaftStream"}
	memberTests  = []string{"./grid/internal/host", "./grid", "-run",
		"Held|Answers|Nothing|GivenBack|Owner|Joiner|Request|Ended|Stop|NoEnd|Leader|Volatile|Marks|Destroy|Sets|Extended|Inherited|" +
			"Forgetting|Addressed|Witness|Earlier|Known|Pages|Stay|Backups"}
)

// mutants lists all rules, each with one line removed. Rule names are the ones in the code's
// comments.
var mutants = slices.Concat(
	protocolMutants, timeMutants, leaderMutants, beginningMutants, definitionMutants, keeperMutants, diskMutants,
	requestMutants, holderMutants, handleMutants, sessionMutants, objectMutants, grantMutants, etcdMutants,
	overloadMutants, readinessMutants, strangerMutants, anchorMutants, recordMutants, storeClientMutants,
	storeMutants, layoutMutants, nodeRangeMutants, foreignMutants, verifyMutants, exploreRecordMutants,
	sidecarMutants, exploreMutants, upgradeMutants, placementMutants, voterMutants, identityMutants,
	registrationMutants, membershipMutants, settingsMutants, operatorMutants, gossipKeyMutants, attackMutants,
	limitMutants, credentialMutants, togetherMutants, followMutants, learnerMutants, framingMutants,
	bodyMutants, quickRequestMutants, signMutants, shutdownMutants, simulatedMutants, exploreGrantMutants,
)

// protocolMutants weaken the protocol's rules.
var protocolMutants = []mutant{
	{"R1", "agreement on a jump is counted from the last raise in every round", "internal/clustertime/timekeeper.go",
		"elapsed-k.counted(prev)", "elapsed", rosterTests},
	{"R1", "the slower pace of an outage is a jump of the clocks", "internal/clustertime/timekeeper.go",
		"median.Sub(max(onward, prev.Add(SpanOf(elapsed))))", "median.Sub(onward)", rosterTests},
	{"R1", "a jump of the clocks is followed immediately", "internal/clustertime/timekeeper.go",
		"k.agreed >= JumpAgreement", "k.agreed >= 0", rosterTests},
	{"R1", "the ceiling may go back", "internal/roster/anchor.go", "return max(r.Ceiling, ceiling)", "return ceiling",
		rosterTests},
	{"R2", "an owner from outside the in-sync set", "internal/roster/reassign.go",
		"case !slices.Contains(before.InSync, m.Member):", "case false:", rosterTests},
	{"R2", "no floor at a change of owner", "internal/roster/reassign.go", "m.Member, Term(r.Version), r.Ceiling",
		"m.Member, Term(r.Version), p.Floor", rosterTests},
	{"R2", "a change of owner keeps the term", "internal/roster/reassign.go", "m.Member, Term(r.Version), r.Ceiling",
		"m.Member, p.Term, r.Ceiling", rosterTests},
	{"R2", "a command of an older version counts", "internal/roster/command.go",
		"if c.From != r.Version && (c.Identity == nil || c.From != 0) {", "if c.From > r.Version {", rosterTests},
	{"R3", "no floor at a loss", "internal/roster/reassign.go", "Term: term, Floor: floor, LostTerm: term, Disk: disk}",
		"Term: term, Floor: min(floor, 0), LostTerm: term, Disk: disk}", rosterTests},
	{"R3", "a loss is not remembered", "internal/roster/reassign.go",
		"Term: term, Floor: floor, LostTerm: term, Disk: disk}", "Term: term, Floor: floor, Disk: disk}", rosterTests},
	{"R4", "the owner is dropped like a backup", "internal/roster/reassign.go",
		"case p.Owner == m.Member || !slices.Contains(p.InSync, m.Member):", "case !slices.Contains(p.InSync, m.Member):",
		rosterTests},
	{"R7", "nothing is due, whatever the leader has seen since", "internal/roster/plan/plan.go",
		"r == p.calm.roster && reflect.DeepEqual(s, p.calm.sight)", "r == p.calm.roster && (p.calm.roster != nil || " +
			"reflect.DeepEqual(s, p.calm.sight))", []string{"./internal/roster/plan", "-run", "TestPlan"}},
	{"R7", "nothing is due, whatever the roster has become since", "internal/roster/plan/plan.go",
		"r == p.calm.roster && reflect.DeepEqual", "p.calm.roster != nil && reflect.DeepEqual",
		[]string{"./internal/roster/plan", "-run", "TestPlan"}},
	{"R4", "a replica that answers is dropped beside one that is removed", "internal/roster/plan/view.go",
		"len(staying) > len(want)", "len(p.InSync) > len(want)", []string{"./internal/roster/plan", "-run",
			"TestPlanKeepsBackupsOfTheGone"}},
	{"R4", "an owner does not wait for a backup that never answered", "backup/owner.go", "!said || p.number < number",
		"said && p.number < number", replicaTests},
	{"R5", "a joiner is not needed", "backup/owner.go", "if r.entry.Joining != \"\" {", "if false {", replicaTests},
	{"R5", "a joiner is admitted before it holds the table", "backup/owner.go", "p.at != r.version || p.number < r.mark",
		"p.at != r.version", replicaTests},
	{"R5", "an acknowledgement of an earlier version admits a joiner", "backup/owner.go", "!said || p.at != r.version ||",
		"!said ||", replicaTests},
	{"R6", "a replica goes back to an older roster", "backup/term.go", "if v <= r.version {", "if v == r.version {",
		replicaTests},
	{"R6", "an owner uses the ceiling of a version it has not looked at", "partition/partition.go",
		"	m.observe(v)\n	switch {", "	switch {", memberTests},
	{"R8", "an older incarnation stays in the sets", "internal/roster/change.go",
		"newer, found := joining[m.Incarnation.Member()]; found && newer != m.Incarnation",
		"newer, found := joining[m.Incarnation.Member()]; found && newer == \"\"", rosterTests},
	{"R9", "a Raft stream for another server counts", "grid/internal/transport/raftstream.go",
		"p.Grid != s.grid || p.Target != s.self", "p.Grid != s.grid", streamTests},
	{"R9", "a Raft stream of another grid counts", "grid/internal/transport/raftstream.go",
		"p.Grid != s.grid || p.Target != s.self", "p.Target != s.self", streamTests},
	{"R9", "a call for another incarnation counts", "grid/internal/api/api.go", "	if !this {\n",
		"	if !this && false {\n", memberTests},
	{"O1", "an owner continues although it knows a later term", "backup/term.go",
		"&& r.newest == r.ownTerm && r.ownTerm > 0", "&& r.ownTerm > 0", replicaTests},
	{"O1", "ownership is known by name", "backup/term.go", "	if p.Owner == r.self && p.Term >= r.newest",
		"	if p.Owner == r.self && r.ownTerm > 0 {\n		r.ownTerm = p.Term\n	} else if p.Owner == r.self && p.Term >= r.newest",
		replicaTests},
	{"O2", "the floor is not raised for assigned nodes", "partition/table.go", "s.free = max(s.free, floor)", "_ = floor",
		tableTests},
	{"O2", "a table from before a loss is used", "backup/term.go", "lost := r.position.Term < r.entry.LostTerm",
		"lost := false", replicaTests},
	{"O2", "the floor of an earlier loss", "backup/term.go", "lost && r.loss.term == r.entry.LostTerm",
		"lost && r.loss.term > 0", replicaTests},
	{"O2", "a table from before a loss is not discarded", "partition/table.go", "	if lost {\n",
		"	if lost && floor < 0 {\n", tableTests},
	{"O2", "a replica becomes the owner twice in a term", "backup/term.go",
		"p.Term >= r.newest && p.Term > r.position.Term", "p.Term >= r.newest", replicaTests},
	{"O3", "a detach is not sent to the replicas", "partition/detach.go", "		m.changed(name, rel.ID)\n		m.released.note",
		"		m.released.note", memberTests},
	{"O3", "an attach is not sent to the replicas", "partition/attach.go", "m.took(v, h, c, a, life, changed)",
		"m.took(v, h, c, a, life, changed && v.Mono < 0)", memberTests},
	{"O4", "one that holds something is enough", "backup/owner.go",
		"if p, said := r.peers[i]; !said || p.number < number {", "if _, said := r.peers[i]; !said {", replicaTests},
	{"O4", "answers do not wait for the replicas", "partition/pending.go", "return r.replica.AllAcknowledged(h.number) &&",
		"return", memberTests},
	{"O4", "a renewal does not wait for its record", "partition/renew.go",
		"				after = max(after, m.unacked.of(c.Ref.Definition.Name(), c.ID))\n", "				after = max(after, 0)\n", memberTests},
	{"O4", "a repeated attach is answered from the table", "partition/pending.go",
		"number: min(on.number, m.replica.Position().Number), answer", "number: min(on.number, before.Number), answer",
		memberTests},
	{"O4", "an inherited record is answered before the term is held", "partition/pending.go",
		"return r.replica.AllAcknowledged(h.number) &&", "return (h.number == 0 || r.replica.AllAcknowledged(h.number)) &&",
		memberTests},
	{"O5", "a grant begins below earlier grants", "partition/table.go", "s.from = max(s.free, s.shown, b.Now,",
		"s.from = max(s.shown, b.Now,", tableTests},
	{"O5", "the high-water mark goes down", "partition/table.go",
		"	s.free = max(s.free, b.Ceiling)\n	return attachment.Attachment",
		"	s.free = b.Ceiling\n	return attachment.Attachment", tableTests},
	{"O6", "a node that is another's is renewed", "partition/table.go", "!s.id.IsZero() && s.id != c.ID {",
		"!s.id.IsZero() && s.id != c.ID && b.Now < 0 {", tableTests},
	{"O6", "an unknown name is always made again", "partition/table.go", "case r == nil && !c.Forgotten, r != nil",
		"case r != nil", tableTests},
	{"O6", "an adopted attachment is not sent to the replicas", "partition/renew.go", "m.took(v, h, c, a, life, changed)",
		"m.took(v, h, c, a, life, changed && v.Mono < 0)", memberTests},
	{"O7", "a node is free below its own grant", "partition/table.go", "min(s.free, max(s.from, used+1))",
		"min(s.free, used+1)", tableTests},
	{"O7", "a detach of another attachment counts", "partition/table.go", "s == nil || s.id.IsZero() || s.id != rel.ID",
		"s == nil || s.id.IsZero()", tableTests},
	{"O7", "an expiry forgets a joint extension", "partition/table.go", "	s.free = max(s.free, until)\n", "", tableTests},
	{"O7", "a name made again starts at 0", "partition/table.go", "	free := t.base\n", "	free := clustertime.Tick(0)\n",
		tableTests},
	{"O7", "a name made again ignores its mark", "partition/table.go", "free = max(free, ended.mark)", "_ = ended.mark",
		tableTests},
	{"O7", "a mark is folded away", "partition/table.go", "t.base = max(t.base, r.mark)", "_ = r.mark", tableTests},
	{"O7", "a fold keeps the earliest tombstones", "partition/table.go", "passed[:len(passed)-keep]", "passed[keep:]",
		tableTests},
	{"O7", "a create does not compare the IDs of two lives", "partition/table.go",
		"attachment.CheckRepeat(r.ref.Definition, r.mark, ref.Definition)",
		"attachment.CheckRepeat(r.ref.Definition, r.mark, r.ref.Definition)", tableTests},
	{"O7", "a collected tombstone ignores a shown life's definition", "partition/complete.go", "		r.ref = other.ref",
		"		_ = other.ref", tableTests},
	{"O7", "no destroyed name is listed for an export", "partition/listing.go",
		"return r.destroyed && attachment.HadIDs", "return false && attachment.HadIDs", tableTests},
	{"O7", "a partition keeps no tombstone that time has passed", "partition/partition.go",
		"m.table.Fold(b.Now, m.tombstones)", "m.table.Fold(b.Now, 0)",
		[]string{"./grid/gridtest", "-run", "TestNextLifeInAGrid"}},
	{"O8", "grants continue beyond the ceiling", "partition/table.go", "Until: max(s.from, b.Ceiling)",
		"Until: max(s.from, b.Ceiling+1)", tableTests},
	{"B1", "a table of an older term is taken", "backup/update.go", "p.Term == 0 || p.Term < r.newest", "p.Term == 0",
		replicaTests},
	{"B1", "an older number is taken again", "backup/update.go", "u.Position.Compare(r.position) <= 0",
		"u.Position.Compare(r.position) == 0", replicaTests},
	{"B1", "changes are applied to a table of an older term", "backup/update.go",
		"r.position.Term != p.Term || r.position.Number < u.Since", "r.position.Number < u.Since", replicaTests},
	{"B1", "changes are applied over a gap", "backup/update.go",
		"r.position.Term != p.Term || r.position.Number < u.Since", "r.position.Term != p.Term", replicaTests},
	{"B1", "an owner stays below a number it did not make", "backup/owner.go", "	if number >= numberMax {",
		"	if number > 0 {", replicaTests},
	{"B1", "an owner follows any number", "backup/owner.go", "	if number >= numberMax {", "	if number == 0 {",
		replicaTests},
	{"B1", "a number out of reach is taken", "backup/update.go", "p.Number > numberMax, p.Term", "p.Term", replicaTests},
	{"B1", "a number far ahead is taken", "backup/update.go", "p.Number-has.Number > leadMax",
		"p.Number-r.position.Number > numberMax", replicaTests},
	{"B2", "a replica that has nothing to do with a table keeps it", "backup/term.go", "	r.discard()\n	if p.Owner",
		"	if p.Owner", replicaTests},
	{"S1", "a stop is stated with a node attached", "partition/partition.go", "	case !free:\n",
		"	case !free && high < 0:\n", memberTests},
	{"S1", "grants continue after the stop is stated", "grid/departure.go", "	d.state.Ended.Store(true) // no actor",
		"	// no actor", memberTests},
	{"S1", "the stop counts after a change of owners", "internal/roster/change.go",
		"c.Stop == 0 && len(c.Lose)+len(c.Take) == 0 &&", "c.Stop == 0 &&", rosterTests},
	{"S1", "the stop counts after grants of an earlier grid", "internal/roster/change.go",
		"len(c.Lose)+len(c.Take) == 0 && c.Granted == 0 {", "len(c.Lose)+len(c.Take) == 0 {", rosterTests},
	{"S1", "the stop ends with any change", "internal/roster/change.go",
		"c.Stop == 0 && len(c.Lose)+len(c.Take) == 0 &&", "false &&", rosterTests},
	{"S2", "a holder of an earlier life is served beyond the floor", "partition/earlierrun.go", "	case until <= floor:",
		"	case until > 0:", memberTests},
	{"H1", "every attach has the same ID", "internal/handles/holderid.go", "_, _ = rand.Read(id[:])",
		"id[0], _ = 1, rand.Reader", clientTests},
	{"H2", "the gap between two grants is used", "sequencer/grant.go", "		case have.Until < g.From:\n",
		"		case have.Until < g.From && used < 0:\n", idTests},
	{"H2", "a new attachment begins at the last timestamp", "sequencer/generator.go",
		"max(a.Grant.From, after+1, g.epoch)", "max(a.Grant.From, g.epoch)", idTests},
	{"H3", "IDs are made ahead of cluster time", "sequencer/generator.go", "		case at > r.now:\n			switch {",
		"		case at > r.now+1000:\n			switch {", idTests},
	{"H4", "IDs are made outside the grant", "sequencer/generator.go", "		case !have.hold(at):\n", "		case r.now < 0:\n",
		idTests},
	{"H5", "a detach does not stop the IDs", "sequencer/generator.go", "if next := g.next.Or(stoppedBit); next >= 0 {",
		"if next := g.next.Load(); next >= 0 {", idTests},
	{"H2", "a slot of a gap is issued under the next grant", "sequencer/bounds.go",
		"slot < g.limit.Load() && slot >= g.low.Load()", "slot < g.limit.Load() && slot >= 0", idTests},
	{"H2", "slots of a gap are filled under the next grant", "sequencer/bounds.go", "slot >= limit || slot < g.low.Load()",
		"slot < 0 || slot >= limit", idTests},
	{"H3", "slots are issued beyond the bound", "sequencer/bounds.go", "slot < g.limit.Load() && slot >= g.low.Load()",
		"slot >= g.low.Load()", idTests},
	{"H3", "slots are handed out ahead of cluster time", "sequencer/bounds.go", "min(r.now+1, grant.Until,",
		"min(r.now+3, grant.Until,", idTests},
	{"H4", "slots are handed out beyond the grant", "sequencer/bounds.go",
		"min(r.now+1, grant.Until, g.epoch.Add(g.layout.end()))", "min(r.now+1, g.epoch.Add(g.layout.end()))", idTests},
	{"H5", "a stop tells less than was used", "sequencer/generator.go", "g.end = min(next, g.limit.Load())",
		"g.end = min(next, g.limit.Load()) - g.layout.counters()", idTests},
	{"H6", "timestamps wrap at the end of the epoch", "sequencer/generator.go", "		case offset >= g.layout.end():\n",
		"		case r.now < 0:\n", idTests},
}

// secondLines have the same effect as the first line in a whole grid, where a rule is gone only if
// all of them are. The tests next to a rule have to detect the first alone.
var secondLines = map[string][]edit{
	"an owner from outside the in-sync set": {{"internal/roster/plan/view.go",
		"&& next == \"\") && slices.Contains(p.InSync, i) {", "&& next == \"\") {"}},
	"the owner is dropped like a backup": {{"internal/roster/plan/view.go",
		"slices.Contains(want, i) || i == p.Owner || v.keepsDisk(p, i)", "slices.Contains(want, i) || v.keepsDisk(p, i)"}},
	"a replica goes back to an older roster": { // Raft's order forbids it as well
		{"proof/sim/member.go", "	if index <= m.index {\n		return\n	}\n", ""}},
	"an owner uses the ceiling of a version it has not looked at": { // the shell passes each roster as well
		{"proof/sim/member.go", "			o.machine.Observe(m.view())\n", ""}},
	"shown names are answered": {
		{"partition/pending.go", "(!h.persistent || r.table.Complete() && r.replica.Persistent(h.number))",
			"(!h.persistent || !r.table.Complete() || r.replica.Persistent(h.number))"}},
	"any member's disk is complete": {
		{"partition/collect.go", "	named := c.replica.Disks(0).Named\n", "	named := c.replica.Disks(0).Named\n	if " +
			"len(named) > 0 {\n		named = nil\n		for _, one := range v.Roster.Members {\n			named = append(named, " +
			"one.Incarnation.Member())\n		}\n	}\n"}},
	"older term accepted": {
		{"backup/update.go", "if u.Position.Compare(r.position) <= 0 {",
			"if u.Position.Term == r.position.Term && u.Position.Number <= r.position.Number {"}},
	"difference applied to an older term's table": { // the owner does not detect that it has to send a whole one
		{"backup/update.go", "	case said && r.position.Number-p.number <=", "	case r.position.Number-p.number <="},
		{"backup/update.go", "		for _, c := range u.Changes[r.position.Number-u.Since:] {",
			"		if r.position.Term != u.Position.Term {\n			r.position.Number = u.Since\n		}\n		for _, c := range " +
				"u.Changes[r.position.Number-u.Since:] {"}},
	"record of another of its task extended": {foundRecord},
	"extension written where another is":     {foundRecord},
	"closed record keeps its holder": {foundRecord,
		{"internal/record/record.go", "	return r.State == Held && r.Attachment == id && !id.IsZero()",
			"	return r.Attachment == id && !id.IsZero()"}},
	"a table of an older term is taken": {
		{"backup/update.go", "if u.Position.Compare(r.position) <= 0 {",
			"if u.Position.Term == r.position.Term && u.Position.Number <= r.position.Number {"}},
}

// equivalents have no effect that a whole grid could reveal, so they do not count there.
var equivalents = map[string]string{
	"the high-water mark goes down":         "an owner's ceiling never goes down (R1, R6), so its mark does not either",
	"a stop is stated with a node attached": "the stated tick includes attached nodes, too",
}

// unseen are mutants that the simulation cannot kill, with the reason.
var unseen = map[string]string{
	"a replica that answers is dropped beside one that is removed": "a partition has one copy less for a while, and " +
		"loses nothing",
	"a detach does not stop the IDs": "a race between goroutines, and the simulation has " +
		"one",
	"a holder of an earlier life is served beyond the floor":        "no grid of the simulation has had an earlier life",
	"a short wait does not look at its context":                     "the contexts of the simulation have all ended",
	"saturation is remembered for as long as the trail is deep":     "it costs IDs, and makes none twice",
	"a handle that lost its node may go back to earlier timestamps": "the grant of its next node begins later",
	"a handle that lost its node stops before its grant ends":       "it costs IDs, and makes none twice",
	"the limit is stored before the beginning of its grant": "a race between goroutines, and the simulation has " +
		"one",
}
