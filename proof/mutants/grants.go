package main

// grantMutants weaken the rules of a generator over HTTP (G1 to G12 in docs/grants.md), and of the calls that
// serve it.
var grantMutants = []mutant{
	{"G1", "an ID has a timestamp at the end of the grant", grantRules, "case t >= s.until:", "case t > s.until:",
		grantTests},
	{"G1", "a layout has no end", grantRules, "case t >= g.layout.Ends:", "case false:", grantTests},
	{"G2", "the time of every reply counts", grantRules, "	g.times = g.times[max(0, len(g.times)-timesMax):]\n", "",
		grantTests},
	{"G2", "the time of a reply counts for ever", grantRules, "return t.at < at-timesFor", "return false",
		grantTests},
	{"G2", "the newest reply alone shows the time", grantRules, "cmp.Compare(a.offset, b.offset)",
		"cmp.Compare(a.at, b.at)",
		grantTests},
	{"G3", "a timestamp is before the last one", grantRules, "case t > g.last:", "case true:", grantTests},
	{"G3", "a grant is used before it begins", grantRules, "t, counter := max(now, s.from), int64(0)",
		"t, counter := now, int64(0)", grantTests},
	{"G3", "a timestamp is above the grid's time", grantRules, "case t > now && t != g.last:", "case false:",
		grantTests},
	{"G4", "a counter has one value too many", grantRules, "g.counter < g.layout.Counters",
		"g.counter <= g.layout.Counters",
		grantTests},
	{"G4", "a counter is used twice", grantRules, "g.last, g.node, g.counter = t, s.node, counter+1",
		"g.last, g.node, g.counter = t, s.node, max(counter, 1)", grantTests},
	{"G5", "a reply shortens a grant", grantRules, "g.spans[n-1].until = max(g.spans[n-1].until, r.Until)",
		"g.spans[n-1].until = r.Until", grantTests},
	{"G6", "another node goes on in the millisecond of the last ID", grantRules,
		"case s.node == g.node && g.counter < g.layout.Counters:", "case g.counter < g.layout.Counters:", grantTests},
	{"G6", "another node counts as the former", grantRules, "g.spans[n-1].node == r.Node && ", "", grantTests},
	{"G7", "a gap is used", grantRules, " && r.From <= g.spans[n-1].until {", " {", grantTests},
	{"G8", "a failure is followed by the next request immediately", grantRules,
		"max(r.RetryAfter, g.pause-g.jitter(g.pause/2))", "r.RetryAfter", grantTests},
	{"G8", "pauses do not grow", grantRules, "g.pause = min(2*g.pause, lastPause)", "", grantTests},
	{"G8", "the time to try again is ignored", grantRules, "max(r.RetryAfter, g.pause-g.jitter(g.pause/2))",
		"g.pause-g.jitter(g.pause/2)", grantTests},
	{"G9", "a child keeps the grant", grantRules, "last: g.last, err: g.err}\n",
		"last: g.last, err: g.err, grant: g.grant, spans: g.spans, layout: g.layout}\n", grantTests},
	{"G9", "a child goes on in the millisecond of its parent", grantRules, "	g.node = -1\n",
		"	g.node, g.counter = 18, 0\n",
		grantTests},
	{"G10", "a reply revives a released grant", grantRules, "	if g.err != nil {\n		return\n	}\n	g.grant,",
		"	g.err = nil\n	g.grant,", grantTests},
	{"G10", "a grant that was released elsewhere is used", grantRules, `g.grant, g.spans = "", nil`, `g.grant = ""`,
		grantTests},
	{"G12", "a destroyed sequencer is waited for", grantRules, "		g.err = ErrDestroyed\n", "", grantTests},

	{"G3", "shared nodes: a timestamp is before the last one", grantRules, "case t > g.last:", "case true:", sharedTests},
	{"G3", "shared nodes: a grant is used before it begins", grantRules, "t, counter := max(now, s.from), int64(0)",
		"t, counter := now, int64(0)", sharedTests},
	{"G4", "shared nodes: a counter has one value too many", grantRules, "g.counter < g.layout.Counters",
		"g.counter <= g.layout.Counters", sharedTests},
	{"G6", "shared nodes: another node counts as the former", grantRules, "g.spans[n-1].node == r.Node && ", "",
		sharedTests},
	{"G9", "shared nodes: a child goes on in the millisecond of its parent", grantRules, "last: g.last, err: g.err}\n",
		"last: -1, err: g.err}\n", sharedTests},

	{"G10", "a renewal after the release attaches again", "partition/detach.go",
		" && !errors.Is(renewal, ErrReleased)", "",
		gridGrantTests},
	{"G6", "a lost node is not replaced", "partition/detach.go", "errors.Is(renewal, sequencer.ErrDetached)",
		"errors.Is(renewal, sequencer.ErrClosed)", gridGrantTests},
	{"G8", "the attachments of two nodes are one", "internal/wire/granttoken.go",
		"t.Secret[:]...), t.Turn)", "t.Secret[:]...), 0)",
		[]string{"./internal/wire"}},
	{"G10", "a release without its last timestamp counts as one without an ID", grantCalls,
		"clustertime.Tick(math.MaxInt64 - 1)", "clustertime.Tick(0 * math.MaxInt64)", gridGrantTests},
	{"G12", "a renewal may create", "internal/wire/grants.go",
		"	case r.Create != nil:\n		return r.Name, GrantToken{}",
		"	case false:\n		return r.Name, GrantToken{}",
		[]string{"./internal/wire"}},
	{"G8", "relayed renewals wait behind first requests", "internal/calls/limiter.go", "wire.PathRelayRenewal: relayed",
		"wire.PathRelayRenewal: decided", []string{"./internal/calls"}},
	{"Z", "the caller of a relayed renewal is not asked for", grantCalls,
		"	for _, action := range in.Grant.Actions() {", "	for _, action := range in.Grant.Actions()[:0] {",
		gridGrantTests},
	{"Z", "the caller of a relayed release is not asked for", grantCalls,
		"	token, err := wire.ParseGrantToken(in.Grant)\n	if err == nil {\n		err = api.Authorize(ctx, " +
			"g.h.cfg.Audit, security.Detach, token.Sequencer.Name)\n	}\n	if err != nil {\n		return err",
		"	token, err := wire.ParseGrantToken(in.Grant)\n	if err != nil {\n		return err", gridGrantTests},
	{"Z", "a damaged token counts", "internal/wire/granttoken.go", "crc32.Checksum(in, grantChecksum) != sum", "sum == 0",
		[]string{"./internal/wire"}},
}

const (
	grantRules = "internal/grants/grants.go"
	grantCalls = "grid/internal/host/grants.go"
)

var (
	grantTests     = []string{"./internal/grants"}
	sharedTests    = []string{"./internal/grants", "-run", "^TestOneTable$"}
	gridGrantTests = []string{"./grid/gridtest", "-run", "^TestGrant"}
)
