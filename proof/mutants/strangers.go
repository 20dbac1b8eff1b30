package main

var (
	guardTests   = []string{"./grid/internal/transport", "-run", "TestRaft.*(Believed|Alone)|TestVote"}
	readTests    = []string{"./grid", "-run", "TestCommandThatNo|TestNewcomerThatCannot"}
	commandTests = []string{"./internal/wire", "-run", "TestUnknownCommands"}
	earlierTests = []string{"./grid", "-run", "TestClaimsOfEarlier|TestEarlierGrant"}
	gossipTests  = []string{"./grid/internal/transport", "./grid", "-run", "TestGossip(Numbers|States|Cannot)"}
	beliefTests  = []string{"./partition", "-run", "RosterShows"}
)

// strangerMutants weaken a member's requirements for messages from senders that it cannot
// authenticate.
var strangerMutants = []mutant{
	{"R10", "any Raft term is believed", "grid/internal/transport/raftguard.go", "	if term > limit {",
		"	if term > limit && limit == 0 {", guardTests},
	{"R10", "any term in a Raft answer is believed", "grid/internal/transport/guardedraft.go",
		"	if err == nil {\n		if err = (RaftView", "	if err != nil {\n		if err = (RaftView", guardTests},
	{"R10", "a server with a log takes any first term", "grid/internal/transport/raftguard.go", "	if v.empty {\n		limit",
		"	if true {\n		limit", guardTests},
	{"R10", "an unknown leader takes the place of one that is there", "grid/internal/transport/raftguard.go",
		"inTouch && !v.knows(from)", "inTouch && from == \"\"", guardTests},
	{"R10", "a server with an old configuration refuses its vote", "grid/internal/transport/raftvotes.go",
		"		if v.outdatedFor(c.RPCHeader) {\n			byLog", "		if v.empty {\n			byLog", guardTests},
	{"R10", "a server with an old configuration refuses to say how it would vote", "grid/internal/transport/raftvotes.go",
		"		if v.outdatedFor(c.RPCHeader) {\n			return nil", "		if v.empty {\n			return nil", guardTests},
	{"R10", "a server in touch with its leader votes for any other", "grid/internal/transport/raftvotes.go",
		"!v.empty && !v.inTouch && v.leader == \"\" && !v.votes", "!v.empty && !v.votes", guardTests},
	{"R10", "a candidate with an older log is encouraged", "grid/internal/transport/raftvotes.go",
		"c.LastLogTerm == term && c.LastLogIndex >= index", "c.LastLogTerm == term && (c.LastLogIndex >= index || index > 0)",
		guardTests},
	{"R10", "any server has the lead passed on", "grid/internal/transport/raftguard.go",
		"from == \"\" || from != v.leader", "from == \"\"", guardTests},
	{"R10", "a Raft request without a sender", "grid/internal/transport/raftguard.go",
		"	case err != nil:\n		return \"\", fmt.Errorf(\"%w: %w\", errUnknownServer, err)",
		"	case err != nil:\n		return v.leader, nil", guardTests},
	{"R10", "entries that Raft panics over", "grid/internal/transport/raftguard.go",
		"		if err := checkEntry(entry); err != nil {", "		if err := checkEntry(entry); err != nil && index == 0 {",
		guardTests},
	{"R10", "entries with a gap", "grid/internal/transport/raftguard.go", "case entry.Index != index || index == 0:",
		"case index == 0:", guardTests},
	{"R10", "a snapshot of a configuration that is none", "grid/internal/transport/raftguard.go",
		"	return checkConfiguration(c.Configuration)", "	return nil", guardTests},

	{"B1", "a term is believed before the roster shows it", "partition/terms.go", "	if !Shows(v.Roster, term) {",
		"	if !Shows(v.Roster, term) {\n		m.replica.Heard(term)\n	}\n	if false {", beliefTests},
	{"B1", "a term that named no owner is believed", "partition/terms.go", "	return h, confirms(m.replica, term)",
		"	return h, true", beliefTests},
	{"O4", "an answer of a term that no roster shows counts", "partition/delivery.go",
		"	case h.NotYet, !confirms(d.replica, max(h.Newest, h.Held.Term)):", "	case h.NotYet:", beliefTests},
	{"O4", "an answer that took nothing counts", "partition/delivery.go", "	case h.NotYet, !confirms(d.replica, ",
		"	case !confirms(d.replica, ", beliefTests},

	{"R7", "any number about a member is taken", "grid/internal/transport/gossippacket.go", "	if n.number > most {",
		"	if n.number > most && most == 0 {", gossipTests},
	{"R7", "an accusation that cannot be refuted is accepted", "grid/internal/transport/gossippacket.go",
		"	case gossipSuspect, gossipDead:\n		return checkNumber(b[1:], accusedMax)",
		"	case gossipSuspect, gossipDead:\n		return checkNumber(b[1:], aliveMax)", gossipTests},
	{"R7", "numbers in an exchange of states are not looked at", "grid/internal/transport/gossipstream.go",
		"for ; err == nil && nodes > 0; nodes-- {", "for ; err != nil && nodes > 0; nodes-- {", gossipTests},
	{"R7", "datagrams are not looked at", "grid/internal/transport/gossip.go", "	return err == nil\n}\n\n// refuse",
		"	return err == nil || t.cfg.Keys == nil && len(plain) > 0\n}\n\n// refuse", gossipTests},

	{"R12", "a command that cannot be read is skipped", "grid/internal/raftlog/fsm.go",
		"		return f.diverged.because(unreadable(fmt.Sprintf(\"entry %d of the roster's log\", entry.Index), err))",
		"		return fmt.Errorf(\"entry %d: %w\", entry.Index, err)", readTests},
	{"R12", "a command with an unknown part is taken", "internal/wire/formatted.go",
		"	return format, Decode(MsgPack, data[1:], v)", "	return format, DecodeTolerant(MsgPack, data[1:], v)", commandTests},
	{"R12", "a command of any format is taken", "internal/wire/formatted.go",
		"format < roster.OldestProtocol || format > roster.CurrentProtocol {", "format < roster.OldestProtocol {",
		commandTests},
	{"R12", "a command that does nothing is taken", "internal/wire/formatted.go", "	if err == nil && c.Parts() == 0 {",
		"	if err != nil && c.Parts() == 0 {", commandTests},

	{"O6", "a shown life ends one that the grid created", "partition/table.go",
		"	case r.Adopted && c.Forgotten && c.Before &&", "	case c.Forgotten && c.Before &&", tableTests},
	{"O6", "a shown life of another grid, or from after the loss, ends one", "partition/table.go",
		"	case r.Adopted && c.Forgotten && c.Before &&", "	case r.Adopted && c.Forgotten &&", tableTests},
	{"O6", "that a life was only shown is not replicated", "partition/change.go",
		"			state.Slots = nil", "			state.Slots, state.Adopted = nil, false", tableTests},

	{"S2", "a durable grid believes in earlier lives for good", "partition/earlierrun.go",
		"	if r.KeepsLog && now > r.Began.Add(ahead) {", "	if r.KeepsLog && now < 0 {", earlierTests},
	{"S2", "any grant of an earlier life moves the floors", "partition/earlierrun.go",
		"	case until <= bound:\n		return believed", "	case until > 0:\n		return believed", earlierTests},
	{"S2", "a member tells of any grant", "grid/leaderreports.go", "	if in.Until > limit {", "	if in.Until < 0 {",
		earlierTests},
	{"S2", "a logical node that another life shows is given to others", "partition/record.go",
		"s.ID.IsZero() && s.Shown <= now && (best", "s.ID.IsZero() && (best", tableTests},
	{"S2", "a grant begins below what another life shows", "partition/table.go", "s.From = max(s.Free, s.Shown, b.Now,",
		"s.From = max(s.Free, b.Now,", tableTests},
	{"S2", "as many logical nodes are kept as holders like", "partition/record.go",
		"r.kept(b.Now) < min(keptMax, max(1, r.Ref.Nodes()/4))", "true", tableTests},
}
