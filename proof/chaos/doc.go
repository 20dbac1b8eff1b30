// Package chaos checks the promises of a grid of real processes under real faults: no
// duplicate ID, no two holders of a logical node at one time, and tables that behave like
// one table.
//
// The test starts members and holders as processes, each in a network namespace of
// its own, and injects faults from a seed: kills, stops, network partitions in both
// directions and in one, loss, delay, limited bandwidth, links taken down, steps of the
// wall clock by up to a day, and kills of all members at the same time. The holders record
// their operations and the results (package history). Afterwards the checkers read the
// histories and write a report:
//
//	go test -C proof -v ./chaos -long                               # a minute of chaos
//	go test -C proof -v -timeout 40m ./chaos -long -chaos-for 10m -seed 7 -report /tmp/chaos.md
//	make proof-chaos                                                   # the full measure
//
// It needs Linux, root, and the commands ip and tc; without them the test is skipped
// with a message, and only the tests of the checkers run. It uses no address of the
// machine's own network.
//
// The seed decides which faults happen, for how long and in which order; processes
// run as the machine lets them, so two runs with one seed are alike and not equal.
//
// With -secure the grid has certificates and a gossip key, and a process with a holder's
// certificate (evil) attacks its members all the time.
//
// The programs under test are in agent, a grid member whose wall clock can be stepped,
// and holder, a client. To see a checker fail, read the tests named CheckerCanFail and
// TestSeesRepeatedID.
package chaos
