package explore

// NameWeakness is one omitted rule about definitions.
type NameWeakness int

// The weaknesses, in the order of the protocol's table.
const (
	NamesNone           NameWeakness = iota
	NamesInMachine                   // none here: a line in a machine, by proof/mutants
	LateAcknowledgement              // D1: a write is acknowledged in a later term
	LossNamesDisks                   // D3: a loss names its replicas' disks
	NoDiskNamed                      // D3: the last disk is struck
	NamedLater                       // D4: a report at one version counts at a later one
	WipedKeepsID                     // D9: an empty disk under the old member ID

	nameWeaknesses // their number
)

// NameMutant is an omitted rule, and a minimal scope that detects it.
type NameMutant struct {
	Name  string
	Rule  string
	Weak  NameWeakness
	Scope NameScope
}

// NameMutants returns every row in the protocol's table.
func NameMutants() []NameMutant {
	return []NameMutant{
		{"memory is enough", "D2c", NamesInMachine,
			NameScope{Durable: "ABC", InSync: "B", Versions: 2, Operations: 1, Lives: 1, Script: "lC"}},
		{"opens do not wait for disks", "D2", NamesInMachine,
			NameScope{Durable: "ABC", InSync: "B", Versions: 3, Operations: 1, Lives: 1, Script: "lCs"}},
		{"any one disk is enough", "D2c", NamesInMachine,
			NameScope{Durable: "ABC", InSync: "B", Versions: 3, Operations: 1, Lives: 1, Script: "lCs"}},
		{"the owner's disk does not count", "D2c", NamesInMachine,
			NameScope{Durable: "ABC", InSync: "B", Versions: 3, Operations: 1, Lives: 1, Script: "lCs"}},
		{"named disks are not compared with the replicas", "D2d", NamesInMachine,
			NameScope{Durable: "ABC", InSync: "B", Versions: 3, Operations: 1, Lives: 1, Script: "dBlC"}},
		{"existing state told without asking", "D2", NamesInMachine,
			NameScope{Durable: "ABC", InSync: "B", Versions: 2, Operations: 1, Lives: 1, Script: "hB", Opens: true}},
		{"a memory-only replica is not waited for", "D2b", NamesInMachine,
			NameScope{Durable: "A", InSync: "B", Versions: 2, Operations: 1, Lives: 1, Script: "tB"}},
		{"a write acknowledged in a later term", "D1", LateAcknowledgement,
			NameScope{Durable: "ABC", InSync: "B", Versions: 3, Operations: 1, Lives: 1, Script: "lBs"}},
		{"an incomplete table stored", "D1", NamesInMachine,
			NameScope{Durable: "ABC", Versions: 3, Operations: 1, Lives: 1, Restarts: 1, Script: "rAlB"}},
		{"a loss names disks", "D3", LossNamesDisks,
			NameScope{Durable: "ABC", InSync: "B", Versions: 3, Operations: 1, Lives: 1, Script: "lClB"}},
		{"no disk is named", "D3, D4", NoDiskNamed,
			NameScope{Durable: "B", InSync: "B", Versions: 4, Operations: 1, Lives: 1, Script: "DBxBlC"}},
		{"disks named before all have written", "D4", NamesInMachine,
			NameScope{Durable: "ABC", Versions: 4, Operations: 1, Lives: 1, Script: "aBmBs", Disks: true}},
		{"disks named by any number of the term", "D4", NamesInMachine,
			NameScope{Durable: "ABC", InSync: "B", Versions: 6, Operations: 1, Lives: 1, Script: "dBsaBmBs", Disks: true,
				Opens: true}},
		{"disks named at a later version", "D4", NamedLater,
			NameScope{Durable: "ABC", Versions: 5, Operations: 1, Lives: 1, Script: "aBmBdBs", Disks: true}},
		{"the next owner's table is complete", "D5", NamesInMachine,
			NameScope{Durable: "ABC", InSync: "B", Versions: 3, Operations: 1, Lives: 1, Script: "lCs"}},
		{"shown names are answered", "D5, D7", NamesInMachine,
			NameScope{Durable: "ABC", Versions: 2, Operations: 3, Lives: 1, Script: "lB", Show: true}},
		{"a disk shown before the loss is known", "D6", NamesInMachine,
			NameScope{Durable: "ABC", InSync: "B", Versions: 3, Operations: 1, Lives: 1, Script: "lCs"}},
		{"any member's disk is complete", "D6", NamesInMachine,
			NameScope{Durable: "ABC", InSync: "B", Versions: 3, Operations: 1, Lives: 1, Script: "lCs"}},
		{"the answer to an earlier collection", "D6", NamesInMachine,
			NameScope{Durable: "ABC", Versions: 5, Operations: 1, Lives: 1, Script: "lBlAlBs"}},
		{"an unknown name created again later", "D7", NamesInMachine,
			NameScope{Durable: "ABC", Versions: 2, Operations: 4, Lives: 1, Script: "lA", Show: true, Fold: true}},
		{"a shown life kept over the collected table", "D6", NamesInMachine,
			NameScope{Durable: "ABC", Versions: 2, Operations: 4, Lives: 1, Script: "lA", Show: true, Fold: true}},
		{"an answer does not wait for voters", "D2", NamesInMachine,
			NameScope{Voters: "ABC", Versions: 2, Operations: 1, Lives: 1, Script: "lC"}},
		{"the next owner asks no voter", "D5", NamesInMachine,
			NameScope{Voters: "ABC", Versions: 2, Operations: 1, Lives: 1, Script: "lC"}},
		{"definitions that a voter may not have got count", "D2", NamesInMachine,
			NameScope{Voters: "ABC", Versions: 2, Operations: 1, Lives: 1, Script: "lC"}},
		{"voters are not asked for a later owner", "D2", NamesInMachine,
			NameScope{Voters: "ABC", Versions: 3, Operations: 1, Lives: 1, Script: "lClA"}},
		{"an empty disk under the old member ID", "D9", WipedKeepsID,
			NameScope{Durable: "ABC", Versions: 3, Operations: 1, Lives: 1, Wipes: 1, Script: "rAlB"}},
	}
}

// NameScopes returns the scopes that every test run explores completely.
func NameScopes() []NameScope {
	return []NameScope{
		{Name: "two replicas, takeovers and dead replicas", Durable: "ABC", InSync: "B", Versions: 3, Operations: 1, Lives: 1,
			Moves: "tDs"},
		{Name: "two replicas, a destroy, takeovers and dead replicas", Durable: "ABC", InSync: "B", Versions: 3,
			Operations: 2, Lives: 2, Moves: "tDs"},
		{Name: "one replica, a restart", Durable: "ABC", Versions: 2, Operations: 2, Lives: 2, Restarts: 1, Moves: "r"},
		{Name: "a replica leaves and another disk is named", Durable: "ABC", InSync: "B", Versions: 4, Operations: 1,
			Lives: 1, Script: "dBslC", Opens: true},
		{Name: "a joiner's disk is named", Durable: "ABC", Versions: 5, Operations: 1, Lives: 1, Script: "aBmBslC"},
		{Name: "a memory-only replica", Durable: "AC", InSync: "B", Versions: 3, Operations: 1, Lives: 1, Moves: "tlD"},
		{Name: "shown lives and a loss", Durable: "ABC", Versions: 2, Operations: 4, Lives: 1, Script: "lA", Show: true,
			Fold: true},
		{Name: "voters keep definitions, a destroy and a loss", Voters: "ABC", Versions: 2, Operations: 2, Lives: 2,
			Script: "lC"},
		{Name: "a voter is replaced", Voters: "AB", Versions: 4, Operations: 1, Lives: 1, Script: "vCvBs"},
		{Name: "a voter ends and another one takes its place", Voters: "ABC", Versions: 4, Operations: 1, Lives: 1, Wipes: 1,
			Script: "xBslC"},
		{Name: "voters keep definitions, shown lives and a loss", Voters: "ABC", Versions: 2, Operations: 4, Lives: 1,
			Script: "lA", Show: true, Fold: true},
		{Name: "a disk is lost and given up", Durable: "ABC", InSync: "B", Versions: 4, Operations: 1, Lives: 1, Wipes: 1,
			Script: "xBfBlC", Opens: true},
	}
}

// LargeNameScopes returns scopes that are explored as far as time allows.
func LargeNameScopes() []NameScope {
	return []NameScope{
		{Name: "two replicas, a loss to all", Durable: "ABC", InSync: "B", Versions: 2, Operations: 2, Lives: 2,
			Script: "LC"},
		{Name: "two replicas, losses", Durable: "ABC", InSync: "B", Versions: 3, Operations: 1, Lives: 1, Moves: "l"},
		{Name: "two replicas, every command, a restart", Durable: "ABC", InSync: "B", Versions: 3, Operations: 2, Lives: 2,
			Restarts: 1, Moves: "thlLdDrxs"},
		{Name: "two replicas, joins", Durable: "ABC", InSync: "B", Versions: 4, Operations: 1, Lives: 1, Moves: "tldDams"},
		{Name: "one replica, four versions, restarts of all", Durable: "ABC", Versions: 4, Operations: 1, Lives: 1,
			Restarts: 3, Moves: "lrs"},
		{Name: "two replicas, shown lives", Durable: "ABC", InSync: "B", Versions: 3, Operations: 3, Lives: 1, Moves: "lt",
			Show: true, Fold: true},
		{Name: "voters keep definitions, losses", Voters: "ABC", Versions: 3, Operations: 1, Lives: 1, Moves: "ls"},
		{Name: "a replica and voters keep definitions", Voters: "ABC", InSync: "B", Versions: 3, Operations: 1, Lives: 1,
			Moves: "tlds"},
		{Name: "a voter is replaced, and a loss", Voters: "AB", Versions: 5, Operations: 1, Lives: 1, Script: "vCvBslB",
			Opens: true},
		{Name: "voters keep definitions, every command", Voters: "ABC", InSync: "B", Versions: 4, Operations: 2, Lives: 2,
			Wipes: 1, Moves: "tlLdvxs"},
		{Name: "mixed members", Durable: "A", InSync: "B", Versions: 4, Operations: 1, Lives: 1, Restarts: 1, Moves: "tlDrs"},
	}
}
