package main

var raftRequestTests = []string{"./grid/internal/raftlog", "-run", "TestRequest|PassingTheLead"}

// shutdownMutants weaken the rules by which a member, a client and an agent end.
var shutdownMutants = []mutant{
	{"shutdown", "Raft ends while a request of it is in progress", "grid/internal/raftlog/node.go", "		n.halt()\n", "", raftRequestTests},
	{"shutdown", "a request that Raft never answers is awaited", "grid/internal/raftlog/requests.go", "	case <-gone:\n		return raft.ErrRaftShutdown\n", "", raftRequestTests},
	{"shutdown", "a node that ends waits for requests without a bound", "grid/internal/raftlog/requests.go", "	case <-timer.C:\n", "", raftRequestTests},
}
