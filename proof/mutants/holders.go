package main

// holderMutants weaken the use of grants and contexts in a holder's handle and client.
var holderMutants = []mutant{
	{"H2", "the limit is stored before the beginning of its grant", "sequencer/bounds.go",
		"		g.low.Store(max(g.low.Load(), g.slotAt(grant.From.Sub(g.epoch))))\n		g.limit.Store(limit)\n",
		"		g.limit.Store(limit)\n		g.low.Store(max(g.low.Load(), g.slotAt(grant.From.Sub(g.epoch))))\n", idTests},
	{"H2", "a handle that lost its node may go back to earlier timestamps", "sequencer/lost.go",
		"last: max(t.last, t.gen.stop())", "last: min(t.last, t.gen.stop())", idTests},
	{"H4", "a handle that lost its node stops before its grant ends", "sequencer/lost.go", "s.clock.Now() < until {",
		"s.clock.Now() < until-100 {", idTests},
	{"contexts", "a wait for time that nearly came is one for the next millisecond", "sequencer/wait.go",
		"w.behind = max(w.behind, at.Sub(w.s.clock.Now()))", "w.behind = at.Sub(w.s.clock.Now())", idTests},
	{"contexts", "an attach that finds no node at the deadline counts as cut off", "sequencer/wait.go",
		"case errors.Is(err, ErrNoFreeNode):", "case errors.Is(err, ErrNoFreeNode) && full == nil:", idTests},
	{"contexts", "the cause of a context's end takes the place of its error", "client/store/room.go",
		"	return ctx.Err()\n}", "	return context.Cause(ctx)\n}", []string{"./client/store", "-run", "ContextWithACause"}},
	{"contexts", "a step that is done is the cause of a create that was cut off", "client/store/recordstore.go",
		"before, try = nil, 0", "before, try = err, 0", []string{"./client/store", "-run", "StepIsNoCause"}},
	{"contexts", "a detach that was cut off hides why it failed before", "client/store/seat.go",
		"		before = err\n", "		before = nil\n", []string{"./client/store", "-run", "LastErrorOfADetach"}},
	{"contexts", "the time limit of a call is the error of an operation", "client/store/recordstore.go",
		"return !isFinal(err) })", "return false })", []string{"./client/store", "-run", "DecisiveErrors"}},
	{"contexts", "a leave that the grants end matches another end than its context's", "internal/handles/detach.go",
		"!errors.Is(bounded.Err(), ctx.Err())", "ctx.Err() == nil", handleTests},
	{"contexts", "a denial matches the time limits of other calls", "client/directory.go", "if isFinal(err) {",
		"if err == nil {", []string{"./client", "-run", "DenialIsTheOnlyCause"}},
	{"contexts", "the end of a search is a cause", "client/call.go", "case ctx.Err() == nil: //", "default: //",
		[]string{"./client", "-run", "EndOfASearch"}},
	{"contexts", "an answer counts as cut off if the context ends with it", "client/call.go",
		" && !wire.IsAnswer(err) {", " {", []string{"./client", "-run", "AnswerAtTheEnd"}},
	{"contexts", "a sequencer that was destroyed at the deadline has no free node", "sequencer/wait.go",
		"case full != nil && errors.Is(err, ctx.Err()):", "case full != nil && ctx.Err() != nil:", idTests},
	{"contexts", "a handle that ends during an attach keeps the node", "sequencer/attach.go",
		"			_ = s.backend.Detach(ctx, release{ID: a.ID, Node: a.Node})\n", "",
		[]string{"./client", "-run", "ForgetDuringAnAttach"}},
	{"contexts", "the time limit of a registration's step is its caller's", "internal/identity/registrar.go",
		"if errors.Is(result.err, context.DeadlineExceeded) {", "if errors.Is(result.err, context.Canceled) {", machineTests},
	{"contexts", "an answer of a store counts as none if the wait ends with it", "cmd/snowgrid-serve/service.go",
		"away != nil && errors.Is(err, ctx.Err())", "away != nil && ctx.Err() != nil",
		[]string{"-C", "cmd/snowgrid-serve", ".", "-run", "AnswerAsTheWaitEnds"}},
	{"contexts", "an answer that has arrived is lost if the context ends then", "internal/frames/call.go",
		"return call.endedBy(ctx.Err())", "return ctx.Err()", []string{"./internal/frames", "-run", "AnswerBeforeTheEnd"}},
	{"contexts", "a short wait does not look at its context", "sequencer/wait.go",
		"if err := ctx.Err(); err != nil {\n		return err", "if err := ctx.Err(); err != nil && until > at+2 {\n		return err",
		idTests},
	{"trail", "saturation is remembered for as long as the trail is deep", "sequencer/generator.go",
		"	memory clustertime.Span = 50\n", "	memory clustertime.Span = 4\n", idTests},
}

var handleTests = []string{"./internal/handles"}

// handleMutants weaken the management of a process's handles.
var handleMutants = []mutant{
	{"handles", "two creates of a name run concurrently", "internal/handles/turns.go", "token: make(chan struct{}, 1)",
		"token: make(chan struct{}, 1000)", handleTests},
	{"handles", "a free turn is not taken when ctx has ended", "internal/handles/turns.go",
		"	case mine.token <- struct{}{}: // Also if ctx has ended.\n		return give, nil\n	default:", "	default:", handleTests},
	{"handles", "a closed client takes handles", "internal/handles/handles.go", "	if r.closed {\n",
		"	if r.closed && e.Stripe {\n", handleTests},
	{"handles", "the end of an earlier handle drops its name's new one", "internal/handles/handles.go",
		"e != nil && e.Control == control {", "e != nil {", handleTests},
	{"handles", "a handle that was opened is attached by the next create", "internal/handles/handles.go",
		"	defer give()\n	e.Owed = false\n	return", "	defer give()\n	return", handleTests},
	{"handles", "a handle with another definition is returned", "internal/handles/handles.go", "have != def {",
		"have.Name() != def.Name() {", handleTests},
	{"handles", "a task begins after the client's end", "internal/handles/tasks.go", "	if t.closed { //",
		"	if t.closed && t.pkg == \"\" { //", handleTests},
	{"handles", "stripes without the rest are kept", "internal/handles/stripes.go", "		_ = r.giveBack(ctx, made) //",
		"		_ = made //", handleTests},
	{"overload", "any number of attachments are given back concurrently", "internal/handles/releases.go",
		"	if r.running == ReleasesMax {\n", "	if r.running < 0 {\n", handleTests},
}

// overloadTests guard the recovery after an overload.
var overloadTests = []string{"./grid/internal/api", "./grid", "-run", "Event|Expired|Deadline"}

// overloadMutants weaken the rules that end an overload.
var overloadMutants = []mutant{
	{"overload", "a dial has no limit", "internal/calls/calls.go", "	ctx, cancel := context.WithTimeout(ctx, " +
		"dialTimeout)\n	defer cancel()\n	conn",
		"	ctx, cancel := context.WithTimeout(ctx, 1000*dialTimeout)\n	defer cancel()\n	conn", clientTests},
	{"overload", "calls in progress have no bound", "internal/calls/limiter.go", "decided: 24,", "decided: 1000,",
		clientTests},
	{"overload", "a request whose caller has gone is begun", "grid/internal/host/actors.go",
		"	return ctx.Err()\n}\n\n// gone", "	return nil\n}\n\n// gone", overloadTests},
	{"overload", "a caller's deadline is ignored", "grid/internal/api/deadline.go", "if text == \"\" {",
		"if text != \"x\" {", overloadTests},
	{"overload", "an address may have any number of event streams", "grid/internal/api/events.go",
		"if e.peers[peer] == peerStreams {", "if e.peers[peer] < 0 {", overloadTests},
	{"overload", "a stream may have any number of events waiting", "grid/internal/api/events.go",
		"if len(s.queue) == eventQueue {", "if len(s.queue) < 0 {", overloadTests},
	{"overload", "POST /v1/ids keeps a handle for each name", "internal/handles/names.go",
		"for len(n.names) > NamesMax {", "for len(n.names) < 0 {", handleTests},
	{"overload", "POST /v1/ids ends a handle in use", "internal/handles/names.go",
		"if e.requests == 0 && (!found || e.last", "if (!found || e.last", handleTests},
}
