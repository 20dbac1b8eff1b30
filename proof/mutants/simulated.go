package main

// simTests simulates whole grids, for failures that no test next to a rule can find.
var simTests = []string{"-C", "proof", "./sim", "-run", "TestSeeds", "-seeds", "16"}

// recoveredTests simulates grids that permanently lose a majority and continue from directories or
// survivors.
var recoveredTests = []string{"-C", "proof", "./sim", "-run", "TestRecoveredSeeds", "-seeds", "12"}

// simulatedMutants weaken rules with effects in a grid with candidacies, copied directories, failed
// disks and recoveries.
var simulatedMutants = []mutant{
	{"R7", "a grid deposes a leader that one voter does not reach", "internal/leader/candidacy.go", "unanswered > all/2}",
		"unanswered > all*0}", simTests},
	{"R7", "a grid counts a voter that has just heard the leader against it", "internal/leader/candidacy.go",
		"k.Unheard >= suspectAfter || k.Unanswered", "k.Unheard >= 0 || k.Unanswered", simTests},
	{"R7", "a grid removes a member for its silence before a lead", "internal/leader/candidacy.go",
		"max(s.Since, now-suspectAfter)", "s.Since", simTests},
	{"R7", "a grid suspects any leader before", "internal/leader/candidacy.go", "of == s.Member && s.Calls > 0",
		"s.Calls > 0", simTests},
	{"R7", "one refused call is proof", "internal/leader/refusals.go",
		"return r.refused && r.last-r.first >= refusedApart", "return r.refused", simTests},
	{"R4", "creates wait for a replica that their owner does not reach", "internal/roster/plan/apart.go",
		"return v.apart[PairOf(a, b)]", "return v.apart[PairOf(a, b)] && a == b", simTests},
	{"R8", "a copy is let in beside its original", "internal/leader/join.go",
		"inUseBy(v, j, other, a, err)", "inUseBy(v, j, other, a, ErrAbsent)", simTests},
	{"S1", "a grid from directories begins at what they show", "internal/clustertime/beginning.go",
		"return highest.Add(window + ClockMargin + JumpLimit)", "return highest", recoveredTests},
	{"S2", "survivors begin below a jump that they did not see", "internal/clustertime/beginning.go",
		"		jump = JumpLimit\n", "		jump = 0\n", recoveredTests},
	{"S1", "a grid from directories names any disk of them", "internal/recovery/recovery.go",
		"			case !found || c < 0:", "			case !found:", []string{"./internal/recovery"}},
	{"S1", "a grid from directories names no disk", "internal/recovery/recovery.go",
		"		Disks:    latest(in.Directories, old, record),\n", "		Disks:    latest(nil, old, record),\n", recoveredTests},
}
