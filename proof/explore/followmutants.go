package explore

// FollowWeakness is one omitted rule for followers.
type FollowWeakness int

// The weaknesses.
const (
	FollowNone              FollowWeakness = iota
	FollowInMachine                        // none here: a source line, by proof/mutants
	PushBeforeCommit                       // F1: a leader pushes a command that is only proposed
	CeilingFromElsewhere                   // F2: a ceiling without its version
	OwnersFromElsewhere                    // F2: owners and floors without their version
	ApplyOnServed                          // F4: the log's commands are applied to the learned roster
	SnapshotOfServed                       // F4: a snapshot has the learned roster
	RestartKeepsName                       // F6: a process keeps the previous one's partitions
	AdmissionOfOtherVersion                // F7: a report at another version admits a joiner

	followWeaknesses // their number
)

// FollowMutant is an omitted rule, and a minimal scope that detects it.
type FollowMutant struct {
	Name  string
	Rule  string
	Weak  FollowWeakness
	Scope FollowScope
}

// FollowMutants returns every rule for followers.
func FollowMutants() []FollowMutant {
	learners := FollowScope{Voters: 1, Entries: 3, Rises: 2, Moves: "t"}
	grants := learners
	grants.Grants = true
	voters := FollowScope{Voters: 2, Entries: 3, Rises: 2, Stale: true, Moves: "t"}
	snapshots := FollowScope{Voters: 3, Entries: 2, Rises: 2}
	restarts := FollowScope{Voters: 1, Entries: 2, Rises: 1, Restarts: 1, Moves: "tr"}
	joins := FollowScope{Voters: 1, Entries: 4, Answers: true, Script: "aCdCaCaC"}
	foreign := FollowScope{Voters: 1, Entries: 1, Rises: 1, Foreign: true, Moves: "t"}
	return []FollowMutant{
		{"push before commit", "F1", PushBeforeCommit, learners},
		{"push before commit, seen by grants alone", "F1", PushBeforeCommit, grants},
		{"ceiling taken from elsewhere", "F2", CeilingFromElsewhere, learners},
		{"ceiling taken from elsewhere, seen by grants alone", "F2", CeilingFromElsewhere, grants},
		{"owners taken from elsewhere", "F2", OwnersFromElsewhere, learners},
		{"a roster of another grid is adopted", "F2", FollowInMachine, foreign},
		{"the served roster goes back to that of the log", "F2", FollowInMachine, voters},
		{"the served roster goes back to a snapshot", "F2", FollowInMachine, snapshots},
		{"a command is skipped", "F3", FollowInMachine, learners},
		{"a command is skipped, seen by grants alone", "F3", FollowInMachine, grants},
		{"an entry does not name the one before it", "F3", FollowInMachine, learners},
		{"the log's commands are applied to the learned roster", "F4", ApplyOnServed, voters},
		{"a snapshot has the learned roster", "F4", SnapshotOfServed, snapshots},
		{"a push changes the roster of the log", "F4", FollowInMachine, voters},
		{"a restarted process keeps what it owned", "F6", RestartKeepsName, restarts},
		{"admission by a report of another version", "F7", AdmissionOfOtherVersion, joins},
	}
}

// FollowScopes returns the scopes that every test run explores completely.
func FollowScopes() []FollowScope {
	return []FollowScope{
		{Name: "one voter and two learners", Voters: 1, Entries: 3, Rises: 2, Stale: true, Moves: "t"},
		{Name: "three voters", Voters: 3, Entries: 2, Rises: 1, Stale: true, Moves: "tl"},
		{Name: "restarts and returns", Voters: 1, Entries: 3, Rises: 1, Restarts: 1, Foreign: true, Moves: "tr"},
		{Name: "a joiner that comes twice", Voters: 1, Entries: 4, Answers: true, Script: "aCdCaCaC"},
	}
}

// LargeFollowScopes returns scopes that take longer.
func LargeFollowScopes() []FollowScope {
	return []FollowScope{
		{Name: "long log", Voters: 2, Entries: 5, Rises: 3, Stale: true, Moves: "tl"},
		{Name: "two restarts", Voters: 2, Entries: 4, Rises: 2, Restarts: 2, Moves: "tlr"},
		{Name: "joins and takeovers", Voters: 1, Entries: 5, Rises: 1, Answers: true, Moves: "tad"},
	}
}
