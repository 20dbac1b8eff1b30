package main

// timeMutants weaken the rules for cluster time.
var timeMutants = []mutant{
	{"R1", "members take the time from each other's answers and pass it on", "grid/member.go", "		Clock:     m.holds,\n",
		"		Clock:     m.clock,\n", []string{"./grid/gridtest", "-run", "MostClocksAreBehind"}},
}
