// Package chaos shows that a grid of real processes keeps its promises while real
// faults happen to it: no ID twice, no two holders of a logical node at one time, and
// tables that behave like one table.
//
// The test starts members and holders as processes, each in a network namespace of
// its own, and lets a seeded source of faults loose on them: kills, stops, cuts of
// the network in both directions and in one, loss, delay, narrow lines, lines taken down,
// steps of the wall clock by up to a day, and kills of all members at once. The
// holders write down what they ask and what they are told (package history).
// Afterwards the checkers judge the histories, and the verdict is a report:
//
//	go test -v ./proof/chaos                                     # a minute of chaos
//	go test -v -timeout 40m ./proof/chaos -chaos-for 10m -seed 7 -report /tmp/chaos.md
//	make chaos                                                   # the full measure
//
// It needs Linux, root, and the commands ip and tc; without them the chaos is skipped
// and says so, and only the tests of the checkers run. It uses no address of the
// machine's own network.
//
// The seed decides which faults happen, for how long and in which order; processes
// run as the machine lets them, so two runs with one seed are alike and not equal.
//
// The programs under test are in agent, a grid member whose wall clock can be stepped,
// and holder, a client. To see a checker fail, read the tests named CheckerCanFail and
// TestSeesRepeatedID.
package chaos
