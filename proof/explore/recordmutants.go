package explore

// RecordMutant is an omitted rule about records, and a minimal scope that detects it. Steps is the
// shortest counterexample in the protocol's table: a search has to go at least that far.
type RecordMutant struct {
	Name  string
	Rule  string
	Weak  RecordWeakness
	Steps int
	Scope RecordScope
}

// Scopes for most mutants.
var (
	twoUsers = RecordScope{Nodes: 1, Attachments: 2, Ticks: 2, Lives: 1}
	twoLives = RecordScope{Nodes: 2, Attachments: 2, Ticks: 1, Lives: 2}
)

// RecordMutants returns every row about compare-and-swap in the protocol's table.
func RecordMutants() []RecordMutant {
	operated, deleted, fine := twoUsers, twoUsers, twoUsers
	operated.Operations = 2
	deleted.Operations, deleted.Deletes = 1, 1
	fine.Fine = true
	longLives, lostLife := twoLives, twoLives
	longLives.Ticks = 2
	lostLife.Deletes = 1
	fineLives := longLives
	fineLives.Fine = true
	return []RecordMutant{
		{"bound ignored by a take", "H2", RecordsInMachine, 8, twoUsers},
		{"used before the swap is known", "H4", RecordsInMachine, 6, twoUsers},
		{"unconditional swaps", "H1", SwapsUnchecked, 8, twoUsers},
		{"bound of a staler read than the revision", "H1", OlderBound, 8, twoUsers},
		{"record of another of its task extended", "H3", RecordsInMachine, 11, fine},
		{"extension written where another is", "H3", RecordsInMachine, 11, fine},
		{"holder of its task found", "H4", RecordsInMachine, 7, fine},
		{"bound falls to until", "H3", RecordsInMachine, 10, twoUsers},
		{"returned below from", "H5", RecordsInMachine, 14, RecordScope{Nodes: 1, Attachments: 3, Ticks: 2, Lives: 1}},
		{"returned while in use", "H5", ReturnedInUse, 10, twoUsers},
		{"answer accepted after the stop", "H5", RecordsInMachine, 11, twoUsers},
		{"bound forgotten when retired", "H6", RecordsInMachine, 10, operated},
		{"missing record created afresh", "H6", MissingMadeAfresh, 10, deleted},
		{"destroyed without closing the records", "H7", RecordsInMachine, 11, longLives},
		{"closed record keeps its holder", "H7", RecordsInMachine, 16, fineLives},
		{"mark of one node", "H7", RecordsInMachine, 13, twoLives},
		{"mark not used", "H8", RecordsInMachine, 13, twoLives},
		{"life not looked at", "H8", RecordsInMachine, 13, twoLives},
		{"missing record skipped by a destroy", "H7", MissingSkipped, 13, lostLife},
		{"the same nonce in every body", "H9", NoNonces, 7, twoUsers},
	}
}

// RecordScopes returns the scopes that every test run explores completely.
func RecordScopes() []RecordScope {
	return []RecordScope{
		{Name: "one node, an operator", Nodes: 1, Attachments: 2, Ticks: 2, Lives: 1, Operations: 2},
		{Name: "one node, two lives, a lost record", Nodes: 1, Attachments: 2, Ticks: 1, Lives: 2, Operations: 1, Deletes: 1},
		{Name: "one node, repeated requests and late reads", Nodes: 1, Attachments: 2, Ticks: 1, Lives: 1, Resends: true,
			Looks: true, Late: true},
		{Name: "one node, three attachments", Nodes: 1, Attachments: 3, Ticks: 1, Lives: 1},
		{Name: "two nodes, two lives", Nodes: 2, Attachments: 2, Ticks: 1, Lives: 2},
	}
}

// LargeRecordScopes returns scopes that are explored as far as time allows.
func LargeRecordScopes() []RecordScope {
	return []RecordScope{
		{Name: "one node, two lives, an operator, a lost record", Nodes: 1, Attachments: 2, Ticks: 3, Lives: 2, Operations: 2,
			Deletes: 1},
		{Name: "one node, three attachments, two lives", Nodes: 1, Attachments: 3, Ticks: 2, Lives: 2, Operations: 1},
		{Name: "one node, repeated requests and late reads", Nodes: 1, Attachments: 2, Ticks: 3, Lives: 1, Operations: 2,
			Resends: true, Looks: true, Late: true},
		{Name: "two nodes, two lives, an operator", Nodes: 2, Attachments: 2, Ticks: 2, Lives: 2, Operations: 2},
		{Name: "two nodes, three attachments", Nodes: 2, Attachments: 3, Ticks: 2, Lives: 1},
	}
}
