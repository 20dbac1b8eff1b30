package explore

// GeneratorMutant is an omitted rule of docs/grants.md, and a minimal scope in which it leads to an
// ID of a forbidden kind. Steps is the length of the shortest story.
type GeneratorMutant struct {
	Name   string
	Rule   string
	Weak   GeneratorWeakness
	Breaks Break
	Steps  int
	Scope  GeneratorScope
}

// Scopes for most mutants.
var (
	aloneOnNode   = GeneratorScope{Nodes: 1, Generators: 1, Ticks: 2, Requests: 2}
	oneLosesNode  = GeneratorScope{Nodes: 1, Generators: 1, Ticks: 2, Requests: 2, Holder: 1, Expiries: 2}
	onTwoNodes    = GeneratorScope{Nodes: 2, Generators: 1, Ticks: 2, Requests: 2, Holder: 1, Expiries: 1}
	nodeReplaced  = GeneratorScope{Nodes: 2, Generators: 1, Ticks: 1, Requests: 2, Holder: 1, Expiries: 1}
	nodesSwapped  = GeneratorScope{Nodes: 2, Generators: 1, Ticks: 1, Requests: 2, Holder: 2, Expiries: 1}
	nodeReleased  = GeneratorScope{Nodes: 2, Generators: 1, Requests: 3, Holder: 1, Elsewhere: 1}
	processCopied = GeneratorScope{Nodes: 1, Generators: 1, Forks: 1, Ticks: 1, Requests: 1}
	grantReleased = GeneratorScope{Nodes: 1, Generators: 1, Ticks: 1, Requests: 2, Holder: 1, Releases: 1}
	byAnother     = GeneratorScope{Nodes: 1, Generators: 1, Ticks: 1, Requests: 3, Elsewhere: 1}
	livesOfName   = GeneratorScope{Nodes: 1, Generators: 1, Ticks: 1, Requests: 2, Lives: 2}
	layoutEnds    = GeneratorScope{Nodes: 1, Generators: 1, Ticks: 3, Requests: 2, Ends: 2}
	minutePasses  = GeneratorScope{Nodes: 1, Generators: 1, Ticks: 2, Requests: 2, Leap: true}
)

// GeneratorMutants returns the omitted rules that lead to a forbidden ID: to equal IDs, or to IDs
// that do not ascend, for each rule for which docs/grants.md states so.
func GeneratorMutants() []GeneratorMutant {
	return []GeneratorMutant{
		{"an ID at the end of the grant", "G1", GrantEndUsed, BreaksTwice, 9, oneLosesNode},
		{"an ID after the end of the grant", "G1", GrantEndUsed, BreaksGrant, 7, aloneOnNode},
		{"an ID at the end of the layout", "G1", LayoutEndIgnored, BreaksGrant, 7, layoutEnds},
		{"a counter has one value too many", "G1", CounterTooMany, BreaksTwice, 7, onTwoNodes},
		{"time since the request was sent", "G2", TimeSinceSent, BreaksPresence, 6, aloneOnNode},
		{"a timestamp below the last one", "G3", BelowLast, BreaksTwice, 12, minutePasses},
		{"a timestamp below the last one, in order", "G3", BelowLast, BreaksOrder, 11, minutePasses},
		{"a grant is used before it begins", "G3", UsedBeforeFrom, BreaksTwice, 7, oneLosesNode},
		{"a timestamp above the grid's time", "G3", AheadOfTime, BreaksPresence, 7, oneLosesNode},
		{"a counter is used twice", "G4", CounterAgain, BreaksTwice, 6, aloneOnNode},
		{"a reply about another node extends the grant", "G5", OtherNodeExtends, BreaksTwice, 12, onTwoNodes},
		{"another node continues in the last timestamp", "G6", OtherNodeSameTick, BreaksOrder, 15, nodesSwapped},
		{"another node after a release continues in it", "G6", OtherNodeSameTick, BreaksOrder, 15, nodeReleased},
		{"a gap is used", "G7", GapUsed, BreaksTwice, 13, oneLosesNode},
		{"several requests", "G8", RequestsAtOnce, BreaksEnd, 12, byAnother},
		{"the reply to a failed request", "G8", LateReplyCounts, BreaksEnd, 13, byAnother},
		{"a copy keeps the grant", "G9", ForkKeepsGrant, BreaksTwice, 7, processCopied},
		{"a released grant is used", "G10", ReleasedUsed, BreaksTwice, 8, grantReleased},
		{"an ID after the release", "G10", ReleasedUsed, BreaksEnd, 6, grantReleased},
		{"a reply revives a released grant", "G10", ReplyRevives, BreaksTwice, 11, grantReleased},
		{"a release states that no ID was made", "G10", LastOmitted, BreaksTwice, 8, grantReleased},
		{"a grant that another process released is used", "G10", DetachedIgnored, BreaksEnd, 9, byAnother},
		{"a destroyed sequencer is used", "G12", DestroyedIgnored, BreaksEnd, 9, livesOfName},
	}
}

// GeneratorHarmless is an omitted rule that leads to no ID of some kinds, with the reason.
type GeneratorHarmless struct {
	Name   string
	Rule   string
	Weak   GeneratorWeakness
	Kinds  []Break
	Reason string
	Scope  GeneratorScope
}

// GeneratorsHarmless returns the omitted rules whose scopes are explored completely without a
// forbidden ID: rules that concern availability alone, and rules without which IDs are still unique
// and ascend.
func GeneratorsHarmless() []GeneratorHarmless {
	every, unique := []Break{BreaksAny}, []Break{BreaksTwice, BreaksOrder}
	another, lives := byAnother, livesOfName
	another.Holder, lives.Holder = 1, 1
	return []GeneratorHarmless{
		{"the newest reply's time alone", "G2", NewestTimeOnly, every,
			"time that goes back is at most time, and G3 keeps timestamps in order", minutePasses},
		{"a reply shortens the grant", "G5", ReplyShortens, every, "less is used than was granted", oneLosesNode},
		{"another node replaces the former grant", "G6", FormerGrantDropped, every, "less is used than was granted",
			nodeReplaced},
		{"time since the request was sent", "G2", TimeSinceSent, unique, "timestamps are still in the grant", oneLosesNode},
		{"several requests", "G8", RequestsAtOnce, unique, "each reply has timestamps of this client alone", another},
		{"the reply to a failed request", "G8", LateReplyCounts, unique, "its timestamps are this client's alone", another},
		{"a destroyed sequencer is used", "G12", DestroyedIgnored, unique, "the next life begins above each grant", lives},
	}
}

// generatorsUnseen are the parts of rules that no exploration can weaken, with the reason.
var generatorsUnseen = map[string]string{
	"G8, pauses and renew_in_ms": "a request is sent at any time, so no pause between two of them exists",
	"G8, addresses":              "any member serves each request; the owner is one table",
	"G11":                        "low is reserved, and nothing depends on it",
	"G12, other errors":          "an error without a state in the owner is a failed request",
	"G10, the newest grant":      "a node whose release is not sent is free after a window",
}

// GeneratorScopes returns the scopes that every test run explores completely, those marked wide
// only with -long.
func GeneratorScopes() []GeneratorScope {
	return []GeneratorScope{
		{Name: "a lost node", Nodes: 1, Generators: 1, Ticks: 2, Requests: 2, Holder: 2, Expiries: 2},
		nodeReplaced.named("another node"),
		{Name: "two generators", Nodes: 1, Generators: 2, Ticks: 1, Requests: 2, Expiries: 1},
		{Name: "a copy of a process", Nodes: 1, Generators: 1, Forks: 1, Ticks: 1, Requests: 2},
		{Name: "two copies of a process", Nodes: 2, Generators: 1, Forks: 2, Requests: 1},
		{Name: "a release, one message twice", Nodes: 1, Generators: 1, Ticks: 1, Requests: 2, Holder: 1, Releases: 1,
			Duplicates: 1},
		{Name: "two releases", Nodes: 1, Generators: 2, Ticks: 1, Requests: 1, Releases: 2},
		{Name: "a release by another process", Nodes: 1, Generators: 1, Ticks: 1, Requests: 3, Holder: 1, Elsewhere: 1},
		{Name: "two lives", Nodes: 1, Generators: 1, Ticks: 2, Requests: 2, Holder: 1, Lives: 2},
		{Name: "three lives", Nodes: 1, Generators: 1, Ticks: 1, Requests: 3, Lives: 3},
		{Name: "late replies", Nodes: 1, Generators: 1, Ticks: 2, Requests: 2, Holder: 1, Expiries: 1, Late: true},
		{Name: "a takeover and a loss", Nodes: 1, Generators: 1, Ticks: 1, Requests: 2, Holder: 1, Expiries: 1, Moves: 1,
			Losses: 1},
		{Name: "clocks apart", Nodes: 1, Generators: 1, Ticks: 2, Requests: 2, Holder: 1, Expiries: 1, Clocks: true},
		{Name: "more than a minute", Nodes: 1, Generators: 1, Ticks: 1, Requests: 2, Holder: 1, Leap: true},
		layoutEnds.named("the layout ends"),

		{Name: "a lost node, three requests", Nodes: 1, Generators: 1, Ticks: 2, Requests: 3, Holder: 2, Expiries: 2,
			Wide: true},
		{Name: "another node, two milliseconds", Nodes: 2, Generators: 1, Ticks: 2, Requests: 2, Holder: 2, Expiries: 1,
			Wide: true},
		{Name: "two generators and a holder", Nodes: 1, Generators: 2, Ticks: 2, Requests: 2, Holder: 1, Expiries: 1,
			Wide: true},
		{Name: "a copy, two nodes and a release", Nodes: 2, Generators: 1, Forks: 1, Ticks: 1, Requests: 2, Releases: 1,
			Wide: true},
		{Name: "late replies, a release, three requests", Nodes: 1, Generators: 1, Ticks: 2, Requests: 3, Holder: 1,
			Expiries: 1, Releases: 1, Late: true, Wide: true},
		{Name: "two lives and a release, one message twice", Nodes: 1, Generators: 1, Ticks: 1, Requests: 3, Holder: 1,
			Releases: 1, Duplicates: 1, Lives: 2, Wide: true},
		{Name: "more than a minute, a lost node", Nodes: 1, Generators: 1, Ticks: 1, Requests: 3, Holder: 1, Expiries: 1,
			Leap: true, Wide: true},
		{Name: "clocks apart, a takeover and a loss", Nodes: 1, Generators: 1, Ticks: 2, Requests: 2, Holder: 1, Expiries: 1,
			Moves: 1, Losses: 1, Clocks: true, Wide: true},
	}
}

func (s GeneratorScope) named(name string) GeneratorScope {
	s.Name = name
	return s
}

// LargeGeneratorScopes returns scopes that are explored as far as time allows.
func LargeGeneratorScopes() []GeneratorScope {
	return []GeneratorScope{
		{Name: "two generators, two nodes, lost ones", Nodes: 2, Generators: 2, Ticks: 2, Requests: 3, Holder: 2,
			Expiries: 2},
		{Name: "copies, releases, lives, messages twice", Nodes: 2, Generators: 2, Forks: 1, Ticks: 2, Requests: 3, Holder: 1,
			Expiries: 1, Releases: 2, Duplicates: 2, Lives: 2},
		{Name: "late replies, clocks apart, losses", Nodes: 2, Generators: 2, Ticks: 3, Requests: 3, Holder: 1, Expiries: 2,
			Moves: 1, Losses: 1, Late: true, Clocks: true},
	}
}
