package explore

// AnchorWeakness is one omitted rule for anchored grids.
type AnchorWeakness int

// The weaknesses.
const (
	AnchorNone           AnchorWeakness = iota
	AnchorInMachine                     // none here: a source line, by proof/mutants
	ClaimDrawnAgain                     // A4: another grid's claim is drawn
	Unconditional                       // A4, A6: the store ignores conditions
	EarlierRead                         // A4: the limit is from an earlier read than the revision
	StopsWithAttachments                // S1: an orderly stop with an attachment left
	RecordDeleted                       // A10: the record is deleted
)

// AnchorMutant is an omitted rule, and a minimal scope that detects it.
type AnchorMutant struct {
	Name  string
	Rule  string
	Weak  AnchorWeakness
	Scope AnchorScope
}

// AnchorMutants returns every rule for anchored grids.
func AnchorMutants() []AnchorMutant {
	two := AnchorScope{Grids: 2, Leaders: 1, Ticks: 2, Takes: 3}
	stops := AnchorScope{Grids: 2, Leaders: 1, Ticks: 2, Takes: 3, Stops: true}
	three := AnchorScope{Grids: 3, Leaders: 1, Ticks: 1, Takes: 3, Stops: true}
	keep := func(s AnchorScope) AnchorScope { s.Keep = true; return s }
	return []AnchorMutant{
		{"ceiling of any claim gives authority", "A1", AnchorInMachine, keep(two)},
		{"raised when the swap was sent", "A1", AnchorInMachine, keep(two)},
		{"a restart continues under the claim of its log", "A3", AnchorInMachine, keep(two)},
		{"a claim of another grid is drawn", "A4", ClaimDrawnAgain, keep(two)},
		{"the store ignores conditions", "A4, A6", Unconditional, two},
		{"limit of an earlier read than the revision", "A4", EarlierRead, two},
		{"floor of a reset is the own ceiling", "A5", AnchorInMachine, two},
		{"floor of a reset is the limit that was found", "A5", AnchorInMachine,
			AnchorScope{Grids: 1, Leaders: 1, Ticks: 2, Takes: 1, Earlier: true}},
		{"a take writes a limit below the own ceiling", "A4", AnchorInMachine, three},
		{"a reset keeps the partitions", "A5", AnchorInMachine, two},
		{"a stop counts for more than the record", "A5", AnchorInMachine, three},
		{"the limit is lowered before the stop", "A8", AnchorInMachine, stops},
		{"a stop with an attachment left", "S1", StopsWithAttachments, stops},
		{"a raise after the stop", "A8", AnchorInMachine, keep(stops)},
		{"the record is deleted", "A10", RecordDeleted, keep(two)},
	}
}

// AnchorScopes returns the scopes that every test run explores completely.
func AnchorScopes() []AnchorScope {
	return []AnchorScope{
		{Name: "two grids, copies", Grids: 2, Leaders: 1, Ticks: 2, Takes: 3, Copies: true},
		{Name: "two grids and stops", Grids: 2, Leaders: 1, Ticks: 2, Takes: 3, Stops: true},
		{Name: "two grids with two leaders", Grids: 2, Leaders: 2, Ticks: 2, Takes: 2, Copies: true},
		{Name: "data of an earlier life without an anchor", Grids: 2, Leaders: 1, Ticks: 4, Takes: 2, Earlier: true},
	}
}

// LargeAnchorScopes returns scopes that take longer.
func LargeAnchorScopes() []AnchorScope {
	return []AnchorScope{
		{Name: "three grids, copies and stops", Grids: 3, Leaders: 1, Ticks: 3, Takes: 3, Copies: true, Stops: true},
		{Name: "three grids, copies, many takes", Grids: 3, Leaders: 1, Ticks: 4, Takes: 5, Copies: true},
		{Name: "three grids with two leaders", Grids: 3, Leaders: 2, Ticks: 2, Takes: 3, Copies: true},
		{Name: "two grids with two leaders, stops", Grids: 2, Leaders: 2, Ticks: 3, Takes: 3, Stops: true},
	}
}
