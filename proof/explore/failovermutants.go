package explore

// FailoverMutant is an omitted quarantine rule, and a minimal scope that detects it. Steps is as in
// RecordMutant.
type FailoverMutant struct {
	Name  string
	Rule  string
	Weak  FailoverWeakness
	Steps int
	Scope FailoverScope
}

// FailoverMutants returns every row about the quarantine in the protocol's table.
func FailoverMutants() []FailoverMutant {
	exact := FailoverScope{Attachments: 2, Ticks: 2, Servers: 2, Window: 2, Late: 1}
	skewed := FailoverScope{Attachments: 2, Ticks: 1, Servers: 2, Window: 2, Skew: 1}
	both := FailoverScope{Attachments: 2, Ticks: 2, Servers: 2, Window: 2, Skew: 1, Late: 1}
	created := FailoverScope{Attachments: 2, Ticks: 2, Servers: 2, Window: 2, Skew: 1, Late: 1, Created: true}
	return []FailoverMutant{
		{"no quarantine", "Q2", FailoversInMachine, 10, skewed},
		{"quarantine without D", "Q2", WithoutLate, 10, exact},
		{"quarantine without the clocks' error", "Q2", WithoutSkew, 16, skewed},
		{"quarantine without the window", "Q2", WithoutWindow, 15, both},
		{"generation read before the swap", "Q3", GenerationReadBefore, 7, created},
		{"extended under a new generation", "Q4", FailoversInMachine, 15, exact},
		// One step less than in the model, where a record's creation gets a reply.
		{"return renews the generation", "Q5", ReturnGrants, 17, FailoverScope{Attachments: 3, Ticks: 1, Servers: 2,
			Window: 2}},
		{"born with the server's generation", "Q5", BornGranted, 11, skewed},
		{"whole window in quarantine", "Q6", FailoversInMachine, 10, skewed},
	}
}

// FailoverScopes returns the scopes that every test run explores completely.
func FailoverScopes() []FailoverScope {
	return []FailoverScope{
		{Name: "exact clocks", Attachments: 2, Ticks: 2, Servers: 2, Window: 1, Late: 1, Created: true},
		{Name: "wrong clocks", Attachments: 2, Ticks: 1, Servers: 2, Window: 1, Skew: 1, Created: true},
	}
}

// LargeFailoverScopes returns scopes that are explored as far as time allows.
func LargeFailoverScopes() []FailoverScope {
	return []FailoverScope{
		{Name: "one failover", Attachments: 2, Ticks: 4, Servers: 2, Window: 2, Skew: 1, Late: 1},
		{Name: "three attachments", Attachments: 3, Ticks: 3, Servers: 2, Window: 2, Skew: 1, Late: 1},
		{Name: "two failovers", Attachments: 2, Ticks: 3, Servers: 3, Window: 1, Skew: 1, Late: 1},
	}
}
