package main

// timeMutants weaken the rules by which cluster time runs.
var timeMutants = []mutant{
	{"R1", "the rounds of a raise are missing from cluster time", "grid/leader.go", "case last.Time == l.proposed.Time:", "case false:", []string{"./grid/gridtest", "-run", "MostClocksAreBehind"}},
	{"R1", "members take the time from each other's answers and pass it on", "grid/member.go", "		Clock:     m.holds,\n", "		Clock:     m.clock,\n", []string{"./grid/gridtest", "-run", "MostClocksAreBehind"}},
}

// voteMutants weaken the order in which votes are taken away.
var voteMutants = []mutant{
	{"R7", "a leader that leaves takes votes of those that stay", "grid/servers.go", "if e.passing && len(e.leavers) == 0 {", "if false {", []string{"./grid/gridtest", "-run", "LeaderCrashesWhileItLeaves"}},
}
