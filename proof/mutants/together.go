package main

var (
	togetherTests  = []string{"./client", "-run", "TestFirstAttach|TestFirstID|TestLostCreateAnswer|TestCreate"}
	relayTests     = []string{"./grid/gridtest", "-run", "TestCreateAttach"}
	earlyTests     = []string{"./grid/internal/api", "-run", "TestEvents"}
	firstStreamSet = []string{"./internal/session"}
	joinPaceTests  = []string{"./grid/gridtest", "-run", "TestJoinWaitsForNoTick", "-count", "2"}
)

// togetherMutants weaken the call that creates and attaches, the stream that follows it, and the
// pace of joins.
var togetherMutants = []mutant{
	{"create-attach", "a request that was passed on is the member's", "grid/internal/host/createattach.go",
		"		ctx = api.OnBehalf(ctx, *in.Caller)\n", "		_ = api.OnBehalf(ctx, *in.Caller)\n", relayTests},
	{"create-attach", "the owner does not authorize the first caller", "grid/internal/host/createattach.go",
		"api.Authorize(ctx, h.cfg.Audit, action, name); err != nil {",
		"api.Authorize(ctx, h.cfg.Audit, action, name); err != nil && h == nil {", relayTests},
	{"create-attach", "the owner does not count a request that was passed on", "grid/internal/host/createattach.go",
		"h.Charge(ctx, security.Create, name); err != nil {",
		"h.Charge(ctx, security.Create, name); err != nil && h == nil {", relayTests},
	{"create-attach", "a caller of any form is believed", "grid/internal/host/createattach.go",
		"in.Caller.Check(); err != nil {", "in.Caller.Check(); err != nil && h == nil {", relayTests},
	{"create-attach", "a holder may pass requests on", "security/action.go", "Relay: Member", "Relay: Holder", relayTests},
	{"create-attach", "an attach that is malformed creates", "grid/internal/host/createattach.go",
		"h.checkAttach(in.Attach.Request(wire.SequencerResponse{})); err != nil {",
		"h.checkAttach(in.Attach.Request(wire.SequencerResponse{})); err != nil && h == nil {", relayTests},
	{"create-attach", "no member passes a request on", "grid/internal/host/createattach.go",
		"found && owner.Incarnation != d.self", "found && owner.Incarnation == \"\"", relayTests},
	{"create-attach", "an attachment that the owner may have recorded is asked for under another ID", "client/backend.go",
		"		id = first.id\n", "		_ = first.id\n", togetherTests},
	{"create-attach", "an attach that is refused for good is asked for again", "client/createattach.go",
		"NewCall), \"\", err); again {", "NewCall), \"\", err); again || c != nil {", togetherTests},
	{"create-attach", "an owner of an earlier release gives logical node 0", "client/createattach.go",
		"	if answer == nil {\n", "	if answer == nil {\n		answer = &wire.Attached{}\n	}\n	if answer == nil {\n",
		togetherTests},
	{"events", "an event before the stream is lost", "grid/internal/api/events.go",
		"		e.early = append(e.early, earlyEvent{h, event, time.Now()})\n", "", earlyTests},
	{"events", "events of holders without a stream are kept without end", "grid/internal/api/events.go",
		"if len(e.early) == earlyMax {", "if len(e.early) < 0 {", earlyTests},
	{"join", "the next step into a grid waits for a tick", "grid/internal/formation/form.go",
		"		case after == atOnce:\n			continue\n", "		case after == atOnce:\n			changed = nil\n", joinPaceTests},
	{"join", "a member that waits for a grid hears no news", "grid/internal/formation/form.go",
		"		if after == nextTick {\n", "		{\n", joinPaceTests},
	{"join", "a member joins the first grid that it sees of two", "grid/internal/formation/form.go",
		"if !ticked && !f.gossip.Searched() {", "if !ticked && f.gossip == nil {",
		[]string{"./grid/gridtest", "-run", "TestForeignGrid", "-count", "6"}},
	{"join", "a request to join waits for the leader's tick", "grid/joinleave.go", "	o.now.Send()\n", "	_ = o.now\n",
		joinPaceTests},
	{"join", "a server that was added waits for the leader's tick", "grid/leadership.go", "			l.of.now.Send() // the step",
		"			_ = l.of.now // the step", joinPaceTests},
	{"session", "handles that were not due when others were renewed are renewed again soon", "internal/session/renew.go",
		"	for _, h := range g.handles {\n		h.next = next\n", "	for _, h := range g.handles {\n		if h.next > now.Mono " +
			"{\n			continue\n		}\n		h.next = next\n", []string{"./client", "-run", "TestManyAttachedApart"}},
	{"session", "the first stream has everything renewed", "internal/session/stream.go", "fresh := !s.broke && now.Mono",
		"fresh := s.broke && now.Mono", firstStreamSet},
	{"session", "a stream that breaks and stands has nothing renewed", "internal/session/stream.go",
		"fresh := !s.broke && now.Mono", "fresh := now.Mono", firstStreamSet},
	{"session", "the first stream has a handle renewed that attaches", "internal/session/session.go",
		"answered: s, heard: now.Mono,", "answered: s, heard: now.Mono - time.Hour,",
		[]string{"./internal/session", "-run", "TestScripts"}},
}
