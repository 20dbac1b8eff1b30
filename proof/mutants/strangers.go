package main

var (
	guardTests  = []string{"./grid", "-run", "TestRaft.*Believed"}
	beliefTests = []string{"./owner", "-run", "RosterShows"}
)

// strangers are the rules about what a member believes of messages without a proof of
// who sent them.
var strangers = []mutant{
	{"R10", "any Raft term is believed", "grid/raftguard.go", "	if term > limit {", "	if term > limit && limit == 0 {", guardTests},
	{"R10", "any term in a Raft answer is believed", "grid/rafttransport.go", "	if err == nil {\n		if err = (raftView", "	if err != nil {\n		if err = (raftView", guardTests},
	{"R10", "a server with a log takes any first term", "grid/raftguard.go", "	if v.empty {\n		limit", "	if true {\n		limit", guardTests},
	{"R10", "a vote for a server that is unknown", "grid/raftguard.go", "err == nil && !v.empty && !v.knows(from)", "err == nil && v.empty && !v.knows(from)", guardTests},
	{"R10", "an unknown leader takes the place of one that is there", "grid/raftguard.go", "!v.empty && v.inTouch && !v.knows(from)", "!v.empty && v.inTouch && from == \"\"", guardTests},
	{"R10", "any server has the lead passed on", "grid/raftguard.go", "from == \"\" || from != v.leader", "from == \"\"", guardTests},
	{"R10", "a Raft request without a sender", "grid/raftguard.go", "	case err != nil:\n		return \"\", fmt.Errorf(\"%w: %w\", errUnknownServer, err)", "	case err != nil:\n		return v.leader, nil", guardTests},
	{"R10", "entries that Raft panics over", "grid/raftguard.go", "		if err := checkEntry(entry); err != nil {", "		if err := checkEntry(entry); err != nil && index == 0 {", guardTests},
	{"R10", "entries with a gap", "grid/raftguard.go", "case entry.Index != index || index == 0:", "case index == 0:", guardTests},
	{"R10", "a snapshot of a configuration that is none", "grid/raftguard.go", "	return checkConfiguration(c.Configuration)", "	return nil", guardTests},

	{"B1", "a term is believed before the roster shows it", "owner/belief.go", "	if !Shows(v.Roster, term) {", "	if !Shows(v.Roster, term) {\n		m.replica.Heard(term)\n	}\n	if false {", beliefTests},
	{"B1", "a term that named no owner is believed", "owner/belief.go", "	return h, m.confirms(term)", "	return h, true", beliefTests},
	{"O4", "an answer of a term that no roster shows counts", "owner/delivery.go", "	case h.NotYet, !m.confirms(max(h.Newest, h.Held.Term)):", "	case h.NotYet:", beliefTests},
	{"O4", "an answer that took nothing counts", "owner/delivery.go", "	case h.NotYet, !m.confirms(", "	case !m.confirms(", beliefTests},
}
