package main

// Tests that guard operators' output.
var (
	auditTests      = []string{"./grid/internal/audit"}
	auditedTests    = []string{"./grid/gridtest", "-run", "TestEveryActionIsAudited"}
	listingTests    = []string{"./grid/gridtest", "-run", "TestListingsAreOfTheWholeGrid"}
	aboutTests      = []string{"./internal/wire", "-run", "TestAbout|TestPages"}
	bookTests       = []string{"./grid/internal/host", "-run", "TestHolderBook|TestRate"}
	rejoinTests     = []string{"./grid/internal/gossip", "./grid/gridtest", "-run", "Absent|DialedByAll|SomethingElse"}
	memberNameTests = []string{"./grid/internal/gossip", "-run", "Name"}
	ringTests       = []string{"./cmd/snowgrid/internal/logring"}
)

// operatorMutants each remove one line from the rules for listings, audit lines and names.
var operatorMutants = []mutant{
	{"audit", "a refused action has no line", "grid/forget.go", "	o.audit.Write(audit.Entry{Action: audit.Forget",
		"	if err == nil {\n		return wire.ForgetResponse{}, nil\n	}\n	(*audit.Log)(nil).Write(audit.Entry{Action: " +
			"audit.Forget", auditedTests},
	{"audit", "a create that opens has a line", "grid/internal/host/calls.go",
		"if err != nil || res.Sequencer.Life == ref.Life {", "if err != nil || res.Sequencer.Life != (attachment.Life{}) {",
		auditedTests},
	{"audit", "a member that leaves counts as removed", "grid/joinleave.go",
		"o.removals.ask(in.Incarnation, audit.Leave, api.WhoOf(ctx))", "_ = api.WhoOf(ctx)", auditedTests},
	{"audit", "a member that does not decide writes a line", "grid/internal/audit/audit.go",
		"if l == nil || undecided(e) {", "if l == nil {", auditTests},
	{"audit", "a retrying program is many actions", "grid/internal/audit/audit.go", "known && now-last < repeatAfter",
		"known && now-last < 0", auditTests},
	{"audit", "a flood of refusals fills the log", "grid/internal/audit/audit.go",
		"if !r.lines.AllowN(time.Time{}.Add(now), 1) {", "if !r.lines.AllowN(time.Time{}.Add(now), 0) {", auditTests},
	{"listing", "a page goes beyond its limit", "grid/listing.go", "rows[:min(len(rows), in.Limit)]", "rows",
		listingTests},
	{"listing", "holders are not asked of the owner", "grid/listing.go", "if owner == o.self || in.Forwarded {",
		"if owner != \"\" || in.Forwarded {", listingTests},
	{"listing", "labels are not bounded together", "internal/wire/about.go", "	if bytes > MaxLabelBytes {",
		"	if bytes < 0 {", aboutTests},
	{"listing", "the descriptions of holders take any memory", "grid/internal/host/holderbook.go",
		"b.bytes+size <= bookBytes", "size <= bookBytes", bookTests},
	{"listing", "silent holders are kept", "grid/internal/host/holderbook.go", "	if now-b.swept > bookKeeps {",
		"	if now < 0 {", bookTests},
	{"names", "a name with control characters is taken over", "grid/internal/gossip/gossip.go",
		"	if CheckName(p.Name) != nil {", "	if len(p.Name) > 1<<20 {", memberNameTests},
	{"joining", "each member dials each newcomer", "grid/internal/gossip/rejoin.go", "now.Sub(since) >= patience",
		"now.Sub(since) >= 0", rejoinTests},
	{"joining", "what a node says is read once", "grid/internal/gossip/gossip.go",
		"alive && g.said[known.Incarnation] == string(n.Meta)", "alive", rejoinTests},
	{"joining", "an absence counts anew at each look", "grid/internal/gossip/rejoin.go", "		if !known {\n			since = now",
		"		if !known || true {\n			since = now", rejoinTests},
	{"bundle", "the log in memory is not bounded", "cmd/snowgrid/internal/logring/logring.go",
		"for ; r.bytes > r.limit; drop++ {", "for ; r.bytes < 0; drop++ {", ringTests},
}
