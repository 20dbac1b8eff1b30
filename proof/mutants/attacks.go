package main

var attackTests = []string{"./grid", "-short", "-run", "^TestAttack(Raft$|AnothersName|PathsWithout|MemberCalls)"}

var (
	raftRoleTests   = []string{"./grid/internal/transport", "-run", "TestRaft(Requests|Dials|Refuses)"}
	credentialTests = []string{"./security"}
	refusalTests    = []string{"./grid", "-run", "TestConfigRefused"}
)

// attackMutants take away checks of the caller: a process with another role or other names is
// served.
var attackMutants = []mutant{
	{"C1", "Raft of any role", "grid/internal/transport/raftsecurity.go", "err = security.Authorize(peer, action, \"\")", "err = nil", raftRoleTests},
	{"C1", "a denied Raft stream has no audit line", "grid/internal/transport/raftsecurity.go", "	if s.denied != nil {", "	if s.denied != nil && s == nil {", attackTests},
	{"C1", "a renewal of any name", "grid/internal/host/renew.go", "denied != nil {", "denied != nil && index < 0 {", attackTests},
	{"C2", "a request of Raft is not authorized", "grid/internal/transport/raftrequest.go", "	return r.authorize(kind)", "	return nil", raftRoleTests},
	{"C2", "a handshake of Raft that fails has no audit line", "grid/internal/transport/raftsecurity.go", "			s.deny(raw, security.Peer{}, err)", "", raftRoleTests},
	{"C2", "a dialer accepts any role at the handshake", "security/credentials.go", "p.Role != Member {", "p.Role == NoRole {", credentialTests},
	{"C2", "a dialer accepts any role later", "security/remote.go", "if dialed && p.Role != Member {", "if dialed && p.Role == NoRole {", credentialTests},
	{"C2", "a reload verifies no one again", "security/remote.go", "v.generation == m.number && !v.ended", "!v.ended", credentialTests},
	{"C2", "a certificate does not end", "security/remote.go", "v.err == nil && !v.until.IsZero() && now.After(v.until)", "false", credentialTests},
	{"C2", "connections go on when their remotes are not valid", "security/remote.go", "			end(v.err)", "			_ = end", credentialTests},
	{"C2", "clear text beyond loopback", "grid/security.go", "conf == nil && setting != \"\" && !c.Insecure {", "conf == nil && setting == \"-\" {", refusalTests},
	{"C2", "gossip without a key beyond loopback", "grid/security.go", "if c.Insecure || !c.isExposed(false) {", "if c.Insecure || c.isExposed(false) {", refusalTests},
}
