package main

var (
	shutdownTests      = []string{"./grid", "-run", "TestShutdown$/^(follower|without_a_majority|removed_by_an_operator)", "-long"}
	clientLeaveTests   = []string{"./client", "./client/store", "-run", "TestLeaveEnds"}
	storeCallbackTests = []string{"./client/store", "-run", "TestBlockedFunctions"}
)

var raftRequestTests = []string{"./grid/internal/raftlog", "-run", "TestRequest|PassingTheLead"}

// shutdownMutants weaken the rules by which a member, a client and an agent stop.
var shutdownMutants = []mutant{
	{"shutdown", "Raft ends while a request of it is in progress", "grid/internal/raftlog/node.go", "		n.halt()\n", "", raftRequestTests},
	{"shutdown", "a request that Raft never answers is awaited", "grid/internal/raftlog/requests.go", "	case <-gone:\n		return raft.ErrRaftShutdown\n", "", raftRequestTests},
	{"shutdown", "a node that ends waits for requests without a bound", "grid/internal/raftlog/requests.go", "	case <-timer.C:\n", "", raftRequestTests},
	{"shutdown", "gossip says goodbye after its end", "grid/internal/gossip/gossip.go", "if g.closed.Load() || g.left.Swap(true) {", "if g.left.Swap(true) {", shutdownTests},
	{"shutdown", "a member leaves twice", "grid/leave.go", "	case first:\n", "	case first || true:\n", shutdownTests},
	{"shutdown", "a member that leaves waits for a majority", "grid/departure.go", "silent >= d.window() {", "silent < 0 {", shutdownTests},
	{"shutdown", "a Leave goes on after Close", "grid/leave.go", "	defer context.AfterFunc(m.ctx, cancel)()\n", "", shutdownTests},
	{"shutdown", "Raft waits for servers that are silent", "grid/internal/raftlog/node.go", "			_ = n.guarded.Close()", "			_ = n.guarded", []string{"./grid", "-run", "TestShutdown$/^cut_off", "-long"}},
	{"shutdown", "a client that leaves waits for answers after its grants", "internal/handles/detach.go", "r.leaveWithin(releases, clock.Now(), limit))", "100*limit)", clientLeaveTests},
	{"shutdown", "a client that leaves waits for a window after its grants", "internal/handles/detach.go", "	within := min(leaveLeast, limit)\n", "	within := limit\n", clientLeaveTests},
	{"R3", "the owner after one that leaves does not wait for holders", "partition/life.go", "return l.loss.recent && p.LostTerm == l.loss.term &&", "return p.Term == p.LostTerm &&", []string{"./partition", "-run", "NextOwnerLearns"}},
	{"R3", "an owner waits for holders long after a loss", "partition/life.go", "recent: p.Term == p.LostTerm && v.Bounds().Now < p.Floor}", "recent: true}", []string{"./partition", "-run", "NextOwnerLearns"}},
	{"R3", "an owner that leaves keeps a lost partition until its floor", "internal/roster/plan/view.go", " && !slices.Contains(v.s.Leave, p.Owner)", "", []string{"./internal/roster/plan", "-run", "PlanWhileLearning"}},
	{"log", "a client writes its log itself", "client/client.go", "	cfg.Logger = logqueue.Logger(cfg.Logger)\n", "	_ = logqueue.Logger\n", []string{"./client", "-run", "TestBlockedLog"}},
	{"log", "a log that is blocked takes every line", "internal/logqueue/logqueue.go", "len(q.lines) >= linesMax", "len(q.lines) < 0", []string{"./internal/logqueue"}},
	{"log", "every line waits for a log that is blocked", "internal/logqueue/logqueue.go", "	if stuck {\n", "	if stuck && q == nil {\n", []string{"./internal/logqueue"}},
	{"log", "a call asks a log that is blocked for its level", "internal/logqueue/logqueue.go", "	if isOwn(h.Handler) {", "	if isOwn(h.Handler) || h.queue != nil {", []string{"./internal/logqueue"}},
	{"callback", "a renewal waits for Config.Known", "client/store/known.go", "knownWait = 100 * time.Millisecond", "knownWait = time.Hour", storeCallbackTests},
	{"callback", "calls of OnLost have no bound", "client/store/known.go", "b.losses >= lossesMax", "b.losses < 0", storeCallbackTests},
	{"log", "an agent waits for its pipes", "cmd/snowgrid/main.go", "args[0] == \"agent\"", "args[0] == \"\"", []string{"./cmd/snowgrid", "-run", "TestAgentWithAFullPipe"}},
	{"log", "a server of a store waits for its pipes", "cmd/snowgrid-serve/main.go", "slices.Contains(args, \"serve\")", "slices.Contains(args, \"\")", []string{"-C", "cmd/snowgrid-serve", ".", "-run", "TestServeWithAFullPipe"}},
	{"log", "an agent waits for its pipes once they are full", "cmd/snowgrid/main.go", "args[0] == \"agent\"", "args[0] == \"\"", []string{"./cmd/snowgrid", "-run", "TestAgentWhosePipeFills"}},
	{"log", "a client that waits for its grid says nothing", "client/client.go", "			reported = true\n			log.Warn(", "			reported = true\n			log.Debug(", []string{"./client", "-run", "TestDialLogsOnce"}},
	{"log", "a join address that does not answer is no warning", "grid/internal/gossip/rejoin.go", "len(g.Peers()) <= 1 {", "len(g.Peers()) < 0 {", []string{"./grid/gridtest", "-run", "TestDeadSeed"}},
	{"log", "a line about a renewal holds the session", "client/session.go", "c.tasks.Go(func(context.Context) { c.logRefused(refused) })", "c.logRefused(refused)", []string{"./client", "-run", "TestSlowLog"}},
	{"log", "readiness is silent about join addresses", "grid/internal/gossip/gossip.go", "\"no other member was seen\" + g.search.text()", "\"no other member was seen\"", []string{"./grid/gridtest", "-run", "TestDeadSeedIsNamed"}},
	{"gossip", "news waits for packets", "grid/internal/gossip/spread.go", "if _, err := g.list.Join([]string{p.Gossip}); err == nil {", "if err == nil {", []string{"./grid/gridtest", "-run", "TestFormingWithoutUDP"}},
	{"log", "the Raft listener fails in silence", "grid/raft.go", "watchedListener{ln, m.files.failed(\"raft\")}", "ln", []string{"./grid/gridtest", "-run", "TestDescriptorsExhausted"}},
	{"log", "the gossip listener fails in silence", "grid/internal/transport/gossip.go", "	accepting.Failed = cfg.NotAccepted\n", "", []string{"./grid/gridtest", "-run", "TestDescriptorsExhausted"}},
	{"log", "the alert about file descriptors never ends", "grid/descriptors.go", " || d.mono()-d.at > descriptorsShown", "", []string{"./grid/gridtest", "-run", "TestDescriptorsExhausted"}},
	{"gossip", "a peer without UDP is not reported", "grid/internal/gossip/udp.go", "		g.noUDP[inc] = u\n", "", []string{"./grid/gridtest", "-run", "TestFormingWithoutUDP"}},
	{"gossip", "a grid at rest does not notice that UDP is blocked", "grid/internal/gossip/suspects.go", "		l.byTCP(name)\n", "		_ = name\n", []string{"./grid/gridtest", "-run", "TestFormingWithoutUDP"}},
	{"gossip", "the alert about UDP never ends", "grid/internal/gossip/udp.go", "	delete(g.noUDP, inc)\n", "", []string{"./grid/gridtest", "-run", "TestFormingWithoutUDP"}},
	{"gossip", "a lost packet is an alert", "grid/internal/gossip/udp.go", "u.last.Sub(u.first) >= udpPatience", "!u.last.IsZero()", []string{"./grid/internal/gossip", "-run", "TestLostPacket"}},
}
