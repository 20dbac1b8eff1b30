package main

var attackTests = []string{"./grid", "-short", "-run", "^TestAttack(Raft$|AnothersName|PathsWithout|MemberCalls)"}

// attackMutants take away checks of the caller: a process with another role or other names is
// served.
var attackMutants = []mutant{
	{"C1", "Raft of any role", "grid/internal/transport/raftsecurity.go", "err = security.Authorize(peer, security.Raft, \"\")", "err = nil", attackTests},
	{"C1", "a denied Raft stream has no audit line", "grid/internal/transport/raftsecurity.go", "err != nil && s.denied != nil", "err == nil && s.denied != nil", attackTests},
	{"C1", "a renewal of any name", "grid/internal/host/renew.go", "denied != nil {", "denied != nil && index < 0 {", attackTests},
}
