package main

// anchorRosterTests guard the commands of anchored grids.
var anchorRosterTests = []string{"./roster", "-run", "Anchor|Reset|Claim|Limit"}

// anchorMutants weaken the rules of anchored grids: a record of a store outside the grid
// limits the ceiling.
var anchorMutants = []mutant{
	{"A2", "a raise goes beyond the limit of the record", "roster/anchor.go", "ceiling = min(ceiling, t.Limit)", "_ = t.Limit", anchorRosterTests},
	{"A2", "a command of another claim counts", "roster/anchor.go", "	case c.Claim != r.Claim:\n		return refused", "	case c.Claim != r.Claim && c.Reset != nil:\n		return refused", anchorRosterTests},
	{"A2", "grants of an earlier grid go beyond the limit", "roster/anchor.go", "case r.Claim != \"\" && granted > limit:", "case granted < 0:", anchorRosterTests},
	{"A5", "a reset forgets the limit that was found", "roster/anchor.go", "floor := max(r.granted(), c.Found)", "floor := r.granted()", anchorRosterTests},
	{"A5", "a reset forgets the own ceiling", "roster/anchor.go", "floor := max(r.granted(), c.Found)", "floor := c.Found", anchorRosterTests},
	{"A5", "a reset keeps the owners", "roster/anchor.go", "next.Partitions[id] = Partition{Term", "next.Partitions[id] = Partition{Owner: p.Owner, InSync: p.InSync, Term", anchorRosterTests},
	{"A5", "a reset is no loss", "roster/anchor.go", "Floor: floor, LostTerm: Term(next.Version), Disk: p.Disk}", "Floor: floor, LostTerm: p.LostTerm, Disk: p.Disk}", anchorRosterTests},
	{"A5", "a reset does not register the leader", "roster/anchor.go", "next.Members = membersAfter(r.Members, registered.Join, out)", "_ = out", anchorRosterTests},
	{"A5", "the floor of a reset is lost with the first owner", "roster/reassign.go", "floor = max(was.Floor, granted)", "floor = granted", anchorRosterTests},
	{"A8", "a stopped grid takes other commands than a reset", "roster/anchor.go", "case r.Claim != \"\" && r.Stopped > 0 && c.Reset == nil:", "case false:", anchorRosterTests},
	{"A9", "messages under each claim name one grid", "roster/anchor.go", "g[i] ^= b", "g[i] ^= b & 0", anchorRosterTests},
}
