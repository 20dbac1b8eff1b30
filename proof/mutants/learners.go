package main

var (
	learnedTests  = []string{"./internal/roster/follow", "-run", "TestLead"}
	learnerTests  = []string{"./grid/gridtest", "-run", "TestLearners"}
	forgeryTests  = []string{"./grid/gridtest", "-run", "TestForgedPushToALearner|TestFollowIsRefused"}
	strangerTests = []string{"./grid/internal/transport", "-run", "TestRaftSenders"}
)

// learnerMutants weaken two sets of rules: a member without a Raft server follows a leader, and a
// leader decides which members have a server.
var learnerMutants = []mutant{
	{"F8", "a push without the key is believed", "internal/roster/follow/lead.go", "[]byte(t.Key), []byte(l.now.Key)",
		"[]byte(l.now.Key), []byte(l.now.Key)", learnedTests},
	{"F8", "a push of another leader with the key is believed", "internal/roster/follow/lead.go",
		"t.Leader != l.now.Leader || subtle", "subtle", learnedTests},
	{"F8", "a leader of an earlier term is followed", "internal/roster/follow/lead.go", "t.Term < l.now.Term || ", "",
		learnedTests},
	{"F8", "two leaders are followed in one term", "internal/roster/follow/lead.go",
		" || t.Term == l.now.Term && t.Leader != l.now.Leader {", " {", learnedTests},
	{"F8", "a silent leader stays the leader", "internal/roster/follow/lead.go",
		"l.now.Key == \"\" || at.Sub(l.heard) > TouchFor", "l.now.Key == \"\"", learnedTests},
	{"F8", "every push is believed where Raft has no leader", "grid/internal/raftlog/followed.go",
		"if takes, worth := n.learned.takes(p); !takes {",
		"if takes, worth := n.learned.takes(p); !takes && worth && !worth {", forgeryTests},
	{"A9", "a learner is reached under the claim that it had", "grid/push.go",
		"errors.Is(err, wire.ErrNotAddressed) && l.unclaim(to, known)", "known.key == \"\" && l.unclaim(to, known)",
		[]string{"./grid/gridtest", "-run", "TestLostAnswerAboutAClaim"}},
	{"F8", "a learner follows no leader", "grid/push.go", "	if unfollowed {\n", "	if unfollowed && mono < 0 {\n",
		learnerTests},
	{"F8", "a learner does not know who votes", "grid/push.go", "	if known.key != \"\" {\n", "	if false {\n",
		learnerTests},
	{"F8", "a leader tells strangers", "grid/follow.go", "!member {", "!member && false {", forgeryTests},
	{"F8", "a learner states no key", "grid/follow.go", "in.Key == \"\" || ", "", forgeryTests},
	{"F8", "a member that does not lead is followed", "grid/follow.go", "	l := o.current.Load()\n	if l == nil || " +
		"!l.node.Leads() {",
		"	l := o.current.Load()\n	if l == nil {\n		l = &lead{of: o, node: o.raft.Node()}\n	}\n	if l == nil {", forgeryTests},
	{"F8", "a learner believes the Raft messages of strangers", "grid/internal/transport/raftguard.go", "v.learns || ", "",
		strangerTests},

	{"servers", "every member has a server", "internal/leader/additions.go", "!full || replaces(m)",
		"!full || replaces(m) || v.Mono > 0", leaderTests},
	{"servers", "a member is admitted that hears of nothing", "internal/leader/additions.go",
		"if v.serves(j.server()) || full {", "if v.serves(j.server()) || full || v.Mono > 0 {", leaderTests},
	{"servers", "a server is added for a member that has not answered", "internal/leader/additions.go",
		"c.said && !c.failing", "!c.failing", leaderTests},
	{"servers", "the servers of those that leave are counted", "internal/leader/standby.go",
		"if stays[s.ID] || m.members.expects(v, s.ID) {", "if stays[s.ID] || v.Mono > 0 {", leaderTests},
	{"servers", "no server is ever one too many", "internal/leader/voters.go",
		"found && e.voting+len(e.idle) > m.serversMost(v)", "found && e.voting+len(e.idle) > 100*m.serversMost(v)",
		leaderTests},
	{"servers", "a member with a disk does not stand by for one without", "internal/leader/standby.go",
		"own < rank(goes) || ", "", leaderTests},
	{"servers", "those that stand by are all in one zone", "internal/leader/standby.go", "servers[m.Zone] >= 2",
		"servers[m.Zone] >= 20", leaderTests},
	{"servers", "servers move between zones without end", "internal/leader/standby.go", "servers[m.Zone] >= 2",
		"servers[m.Zone] >= 0", leaderTests},
	{"servers", "the server in the smallest zone is removed", "internal/leader/standby.go",
		"servers[e.zone[s.ID]] >= servers[e.zone[goes.ID]]", "servers[e.zone[s.ID]] <= servers[e.zone[goes.ID]]",
		leaderTests},
	{"servers", "many learners get a server before one is removed", "internal/leader/standby.go",
		"!found || !spare || e.voting+len(e.idle) > m.serversMost(v)", "!found || !spare", leaderTests},
	{"servers", "a learner that has joined still asks", "internal/leader/admission.go", "q.isLeaving(v, inc) || in ||",
		"q.isLeaving(v, inc) || in && v.serves(j.server()) ||", leaderTests},
}
