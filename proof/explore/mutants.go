package explore

import (
	"slices"
)

// Mutant is an omitted rule, and a minimal scope that detects it.
type Mutant struct {
	Name  string
	Rule  string
	Weak  Weakness
	Scope Scope
}

// Mutants returns every row in the protocol's table of weakenings, in its order, followed by
// weakenings of rules outside the table.
func Mutants() []Mutant {
	return slices.Concat(agreementMutants(), replicaMutants(), tableMutants(), addedMutants())
}

// agreementMutants are about ceilings, floors and versions.
func agreementMutants() []Mutant {
	return []Mutant{
		{"any G, not that of the own version", "O1, R6", AnyCeiling,
			Scope{Nodes: 1, Holders: 2, Versions: 2, Rises: 1, Operations: 1, Moves: "l"}},
		{"no floor at a change of owner", "R2", NoFloorAtTakeover,
			Scope{Wide: true, InSync: "B", Nodes: 1, Holders: 2, Versions: 2, Rises: 1, Operations: 2, Moves: "t",
				Requests: "e"}},
		{"no floor at a loss", "R3", NoFloorAtLoss,
			Scope{Nodes: 1, Holders: 2, Versions: 2, Operations: 1, Moves: "l"}},
		{"floor not raised for assigned nodes", "O2", InMachine,
			Scope{Wide: true, InSync: "B", Nodes: 1, Holders: 2, Versions: 2, Rises: 1, Operations: 2, Moves: "t",
				Requests: "e"}},
		{"floor from an older read than the command", "R2", OldFloor,
			Scope{Wide: true, InSync: "B", Nodes: 1, Holders: 2, Versions: 2, Rises: 1, Operations: 2, Moves: "t",
				Requests: "e"}},
		{"uncommitted G announced", "R6", UncommittedCeiling,
			Scope{Nodes: 1, Holders: 2, Versions: 2, Rises: 1, Operations: 1, Moves: "l"}},
	}
}

// replicaMutants are about acknowledged positions, and the replies that depend on them.
func replicaMutants() []Mutant {
	return []Mutant{
		{"no acknowledgements", "O4", InMachine,
			Scope{InSync: "B", Nodes: 1, Holders: 2, Versions: 2, Operations: 1, Moves: "t"}},
		{"any one backup is enough", "O4", InMachine,
			Scope{InSync: "BC", Nodes: 1, Holders: 2, Versions: 2, Operations: 1, Moves: "t"}},
		{"owner drops a silent backup by itself", "R4", InMachine,
			Scope{InSync: "B", Nodes: 1, Holders: 2, Versions: 3, Operations: 1, Script: "tBtA"}},
		{"repeated attach answered from the table before all hold it", "O4", InMachine,
			Scope{InSync: "B", Nodes: 1, Holders: 2, Versions: 2, Operations: 1, Moves: "t"}},
		{"inherited records answered before the term's snapshot is held by all", "O4", InMachine,
			Scope{Wide: true, InSync: "B", Nodes: 1, Holders: 2, Attached: 1, Versions: 3, Rises: 1, Operations: 1,
				Script: "tBtA", Requests: "e"}},
		{"difference applied to an older term's table", "B1", InMachine,
			Scope{Wide: true, InSync: "B", Nodes: 1, Holders: 2, Attached: 1, Versions: 3, Rises: 1, Operations: 1,
				Script: "tBTA", Requests: "e"}},
		{"older term accepted", "B1", InMachine,
			Scope{InSync: "BC", Nodes: 1, Holders: 2, Versions: 3, Operations: 1, Script: "TBTC", Early: true, Late: true}},
		{"older (e, k) installed again", "B1", InMachine,
			Scope{InSync: "B", Nodes: 1, Holders: 2, Versions: 2, Operations: 1, Moves: "t", Early: true}},
		{"joiner not needed before the owner learns the new version", "R5", InMachine,
			Scope{Nodes: 1, Holders: 2, Versions: 4, Operations: 1, Moves: "at"}},
		{"joiner admitted before it holds the table", "R5", JoinerAdmittedEarly,
			Scope{InSync: "C", Nodes: 1, Holders: 2, Versions: 5, Operations: 1, Script: "dCaCaCtC"}},
		{"admission rebased onto a later version", "R5", AdmissionRebased,
			Scope{Wide: true, Nodes: 1, Holders: 2, Versions: 6, Operations: 1, Script: "aCdCaCaCtC"}},
		{"owner chosen outside the in-sync set without a loss", "R2", OwnerOutsideSync,
			Scope{InSync: "C", Nodes: 1, Holders: 2, Versions: 3, Operations: 1, Moves: "dt"}},
		{"loss remembered by the named owner only", "O2", InMachine,
			Scope{InSync: "C", Nodes: 1, Holders: 2, Versions: 4, Operations: 1, Script: "dCLBtC"}},
		{"loss not remembered at all", "O2", InMachine,
			Scope{InSync: "C", Nodes: 1, Holders: 2, Versions: 3, Operations: 1, Moves: "dl"}},
		{"continuity recognised by owner name", "O1", InMachine,
			Scope{Nodes: 1, Holders: 2, Versions: 3, Rises: 1, Operations: 1, Moves: "l"}},
		{"member restarts empty under its old name", "B2", RestartUnderOldName,
			Scope{Nodes: 1, Holders: 2, Versions: 1, Operations: 1, Restarts: 1, Lives: 2, Requests: "D"}},
	}
}

// tableMutants are about logical nodes and their holders.
func tableMutants() []Mutant {
	return []Mutant{
		{"free := until, which may go down", "O5", InMachine,
			Scope{Nodes: 1, Holders: 2, Versions: 1, Rises: 1, Operations: 3, Requests: "eS"}},
		{"from ignores free", "O5", InMachine,
			Scope{Nodes: 1, Holders: 2, Versions: 1, Operations: 3, Requests: "e"}},
		{"detach sets free below its own from", "O7", InMachine,
			Scope{Nodes: 1, Holders: 3, Versions: 1, Rises: 1, Operations: 5, Requests: "ed"}},
		{"adopted attachment not replicated", "O6", InMachine,
			Scope{Wide: true, InSync: "B", Nodes: 1, Holders: 2, Versions: 2, Rises: 1, Operations: 2, Moves: "t",
				Requests: "e"}},
		{"adopted attachment fills the gap", "O6, H2", InMachine,
			Scope{Nodes: 1, Holders: 2, Versions: 1, Rises: 1, Operations: 5, Requests: "e"}},
		{"adopted attachment ignores free", "O6", InMachine,
			Scope{Nodes: 1, Holders: 2, Versions: 1, Rises: 1, Operations: 5, Requests: "e"}},
		{"attachment ID reused", "H1", AttachmentReused,
			Scope{Nodes: 1, Holders: 2, Versions: 1, Operations: 1}},
		{"late answer after detach accepted", "H5", LateAnswerAccepted,
			Scope{Nodes: 1, Holders: 2, Versions: 1, Operations: 3, Requests: "d"}},
		{"re-created sequencer starts at 0", "O7", InMachine,
			Scope{Nodes: 1, Holders: 2, Versions: 1, Operations: 4, Lives: 2, Requests: "D"}},
	}
}

// addedMutants are about rules outside the protocol's table.
func addedMutants() []Mutant {
	return []Mutant{
		{"a later life replaces an earlier one from 0", "O6", InMachine,
			Scope{Nodes: 1, Holders: 2, Versions: 2, Rises: 1, Operations: 3, Moves: "l", Lives: 2, Requests: "D"}},
		{"renewal of a node answered with the grant of another", "O6", InMachine,
			Scope{Nodes: 2, Holders: 2, Versions: 1, Rises: 1, Operations: 4, Requests: "e"}},
		{"fingerprint without the start of the grant", "O6, H2", InMachine,
			Scope{Nodes: 1, Holders: 2, Versions: 1, Rises: 2, Operations: 5, Requests: "es"}},
		{"what sets extend is not counted", "O5", InMachine,
			Scope{Nodes: 1, Holders: 2, Versions: 1, Rises: 1, Operations: 3, Requests: "es"}},
		{"mark without the nodes that were given back", "O7", InMachine,
			Scope{Nodes: 1, Holders: 2, Versions: 1, Operations: 5, Lives: 2, Requests: "dD"}},
		{"a folded mark leaves base as it was", "O7", InMachine,
			Scope{Nodes: 1, Holders: 2, Versions: 1, Operations: 5, Lives: 2, Requests: "Df"}},
		{"clean stop with an attachment left", "S1", InMachine,
			Scope{Alone: true, Nodes: 1, Holders: 2, Versions: 3, Operations: 2, Restarts: 1, Moves: "rs"}},
		{"stop entry outlives the next command", "S1", StopNotCleared,
			Scope{Alone: true, Nodes: 1, Holders: 2, Versions: 4, Operations: 2, Restarts: 2, Moves: "rs"}},
		{"the last member grants after its stop", "S1", StopStillGrants,
			Scope{Alone: true, Nodes: 1, Holders: 2, Versions: 3, Operations: 2, Restarts: 1, Moves: "rs"}},
		{"a table from before a loss begins at the floor of an earlier one", "O2", InMachine,
			Scope{InSync: "B", Nodes: 1, Holders: 2, Versions: 3, Operations: 1, Script: "LAtB"}},
	}
}
