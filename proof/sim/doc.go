// Package sim simulates whole grids in one loop, with the real machines: the roster and its
// planner, the timekeeper and cluster time from package clustertime, the leader from package
// leader, the replicas from package backup over the tables and sessions from package partition,
// the handles from package sequencer, and the session machine that package client runs for them.
// There is no concurrency, and no real clock is read: a run depends only on one number, its seed,
// and can be replayed.
//
// Everything that waits is left out: sockets, goroutines, Raft, gossip. A driver over virtual
// time replaces package grid and package client:
//
//   - The leader's probes pass through the simulated network.
//   - Agreement is one log and one list of servers. It needs a majority of the voters. Leaders
//     come and go, and sometimes continue when they should not.
//   - Gossip is a view of the members that is late, and wrong at times.
//   - The network loses, delays, duplicates and cuts. Members, holders, clocks and disks fail
//     at any time.
//   - Voters start elections against the leader with the machines from package leader. Their
//     probes may be late or lost.
//   - Data directories are copied, or replaced with older copies.
//   - A majority of the voters is lost permanently. An operator then begins another grid from
//     the remaining directories or members, with package recovery.
//   - Generators in other languages, with the machine from package grants, hold grants through any
//     member. They fork, pause, end and release.
//
// Package proof/ledger checks the results.
//
// A second simulation has no grid: [RunStore] runs holders that share the records in a store,
// with the machine from package record. Requests and replies are lost, late or duplicated. The
// server is unreachable, or is replaced by a server that lacks acknowledged writes. Holders
// pause, end, and take records held by others. Clocks are hours apart, step, and run at a wrong
// rate. Records are deleted and repaired, retired and restored. The sequencer is destroyed and
// created again.
//
//	go test -C proof ./sim                                    # 200 grids, 50 hours
//	go test -C proof ./sim -run TestSeeds -seeds 30 -short    # a quick look
//	go test -C proof ./sim -run TestSeeds -seed 17 -tracefile /tmp/17.txt -v
//	go test -C proof ./sim -run TestSeeds -hours 1000 -timeout 0 -v
//	go test -C proof ./sim -run TestRecoveredSeeds -seeds 100 -v
//	go test -C proof ./sim -run TestGeneratorSeeds -seeds 100 -v
//	go test -C proof ./sim -run TestStoreSeeds -seeds 10000 -v
//
// A failure prints the command that replays it. TestBaselines runs the same schedules against two
// simpler ways to own a logical node. Both issue equal IDs, which proves that the checked
// properties do not hold by themselves.
package sim
