// Package sim runs whole grids of the real machines in one loop: the roster and
// its planner, the timekeeper and cluster time of package clustertime, the leader of
// package leader, the replicas of package backup over the tables and sessions of package
// partition, the handles of package sequencer, and the session machine that package
// client runs for them. Nothing here runs concurrently and no clock is read, so that a
// run follows from one number, its seed, and can be played again.
//
// Everything that waits is left out: sockets, goroutines, Raft, gossip. Around the machines
// is a driver that replaces package grid and package client, over virtual time. The leader is the machine of package leader: its probes go
// over the simulated net. Agreement is one log and one list of servers, which need a
// majority of the voters, with leaders that come, leave, and continue when they should
// not.
// Gossip is a view of the members that is late, and wrong at times. The net
// loses, delays, doubles and cuts; members, holders, clocks and disks fail as they like. Voters
// stand against the leader by the machines of package leader, with looks that are late or lost, and
// data directories are copied, or come back older. A majority of the voters is lost for good, and an
// operator has the directories or the members that are left begin another grid, by package recovery.
// Package proof/ledger judges what comes out.
//
// A second simulation has no grid: [RunStore] runs holders that share the records of a store,
// with the machine of package record. Requests and answers are lost, late or come again;
// the server is away, or is replaced by one that lacks acknowledged writes; holders pause,
// end and take what others hold; clocks are hours apart, step and run at a wrong pace;
// records are deleted and repaired, retired and restored; the sequencer is destroyed and
// created again.
//
//	go test -C proof ./sim                                    # 200 grids, 50 hours
//	go test -C proof ./sim -run TestSeeds -seeds 30 -short    # a quick look
//	go test -C proof ./sim -run TestSeeds -seed 17 -tracefile /tmp/17.txt -v
//	go test -C proof ./sim -run TestSeeds -hours 1000 -timeout 0 -v
//	go test -C proof ./sim -run TestRecoveredSeeds -seeds 100 -v
//	go test -C proof ./sim -run TestStoreSeeds -seeds 10000 -v
//
// A failure prints the command that plays it again. TestBaselines runs the same
// schedules against two simpler ways to own a logical node, which both issue
// equal IDs: the checked properties do not hold by themselves.
package sim
