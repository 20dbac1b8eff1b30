package main

var attackTests = []string{"./grid", "-run", "^TestAttack(Raft$|AnothersName|PathsWithout|MemberCalls)"}

var (
	nestedTests        = []string{"./grid/internal/transport", "-run", "TestNestedGossip"}
	opsAttackTests     = []string{"./cmd/snowgrid", "-run", "TestIdleConnections|TestDebugPagesAre"}
	looksTests         = []string{"./grid", "-run", "TestStatusIsShared|TestLooks"}
	numbersAttackTests = []string{"./grid", "-run", "TestAttackByNumbers"}
	raftRoleTests      = []string{"./grid/internal/transport", "-run", "TestRaft(Requests|Dials|Refuses)"}
	credentialTests    = []string{"./security"}
	refusalTests       = []string{"./grid", "-run", "TestConfigRefused"}
)

// attackMutants remove checks on the caller: a process with another role or other names is served.
var attackMutants = []mutant{
	{"C1", "Raft of any role", "grid/internal/transport/raftsecurity.go", "err = security.Authorize(peer, action, \"\")",
		"err = nil", raftRoleTests},
	{"C1", "a denied Raft stream has no audit line", "grid/internal/transport/raftsecurity.go", "	if s.denied != nil {",
		"	if s.denied != nil && s == nil {", attackTests},
	{"C1", "a renewal of any name", "grid/internal/host/renew.go", "denied != nil {", "denied != nil && index < 0 {",
		attackTests},
	{"C2", "a request of Raft is not authorized", "grid/internal/transport/raftrequest.go", "	return r.authorize(kind)",
		"	return nil", raftRoleTests},
	{"C2", "a handshake of Raft that fails has no audit line", "grid/internal/transport/raftsecurity.go",
		"			s.deny(raw, security.Peer{}, err)", "", raftRoleTests},
	{"C2", "a dialer accepts any role at the handshake", "security/credentials.go", "p.Role != Member {",
		"p.Role == NoRole {", credentialTests},
	{"C2", "a dialer accepts any role later", "security/remote.go", "if dialed && p.Role != Member {",
		"if dialed && p.Role == NoRole {", credentialTests},
	{"C2", "a reload verifies no one again", "security/remote.go", "v.generation == m.number && !v.ended", "!v.ended",
		credentialTests},
	{"C2", "a certificate does not end", "security/remote.go", "v.err == nil && !v.until.IsZero() && now.After(v.until)",
		"false", credentialTests},
	{"C2", "connections stay when their remotes are not valid", "security/remote.go", "			end(v.err)", "			_ = end",
		credentialTests},
	{"C2", "clear text beyond loopback", "grid/security.go", "conf == nil && setting != \"\" && !c.insecure() {",
		"conf == nil && setting == \"-\" {", refusalTests},
	{"C2", "gossip without a key beyond loopback", "grid/security.go", "if c.insecure() || !c.isExposed(false) {",
		"if c.insecure() || c.isExposed(false) {", refusalTests},
	{"C2", "no check before the body", "grid/internal/api/routes.go", "err = t.authorize(r)", "err = nil", accessTests},
	{"C2", "no check of names after decoding", "grid/internal/api/api.go",
		"return in, leave, a.authorizeUses(r.Context(), r.Method, r.URL.Path, in)", "return in, leave, nil", accessTests},
	{"C2", "a use of several is not checked", "grid/internal/api/peer.go", "range uses {\n\t\tif err := Authorize",
		"range uses[:min(1, len(uses))] {\n\t\tif err := Authorize", accessTests},
	{"C2", "paths of members for admins", "grid/internal/api/access.go",
		"onPost(wire.PathReplicate): row(security.Replicate,", "onPost(wire.PathReplicate): row(security.Init,",
		accessTests},
	{"C2", "another process is believed about the first caller", "grid/internal/api/api.go", "Role != security.Member {",
		"Role == \"\" {", accessTests},
	{"C2", "a bad token is ignored where none is needed", "grid/internal/api/peer.go", "(err != nil || c.token)",
		"err != nil", accessTests},
	{"C2", "a remote caller that was not identified is this process", "grid/internal/api/peer.go", "remote {",
		"remote && false {", accessTests},
	{"C2", "no line about a denial", "grid/internal/api/peer.go", "lines.Write(", "_ = (", accessTests},
	{"C3", "a set counts under another limit", "partition/sessions.go",
		"known.limit != set.Limit || known.under != known.count", "false", tableTests},
	{"C3", "a set counts of which a part was shown under another limit", "partition/sessions.go",
		"|| known.under != known.count", "", tableTests},
	{"C3", "a caller is under no limit", "grid/internal/host/limit.go", "len(names) == 0", "len(names) >= 0", roleTests},
	{"C3", "a list has every name", "grid/listing.go", "in.Names = own", "_ = own", roleTests},
	{"C3", "a status has every name", "grid/overview.go", "return !caller.MayUse(q.Name)",
		"return !caller.MayUse(q.Name) && false", roleTests},
	{"C3", "a list has whole IDs of holders", "grid/internal/host/listing.go", "a.Holder.Short()", "a.Holder", roleTests},
	{"C4", "a denied renewal is like any failed one", "internal/session/renew.go", "case errors.Is(a.Err, ErrDenied):",
		"case false:", sessionTests},
	{"C4", "a denied call is repeated", "client/call.go", "case isDenied(seen):", "case false:", clientTests},
	{"C4", "a handle waits for a grant that is refused", "sequencer/wait.go",
		"got.out == noGrant && seen.refusedAt(got.at) != nil", "false", idTests},
	{"hostile bytes", "a nested field of a gossip message is decoded", "grid/internal/transport/gossippacket.go",
		"	case 0x80 <= c && c <= 0x9f, 0xdc <= c && c <= 0xdf: // lists and maps", "	case c == 0xc1:", nestedTests},
	{"hostile bytes", "messages about no node are not looked at", "grid/internal/transport/gossippacket.go",
		"	if len(b) == 1 || !isDecoded(b[0]) {", "	if len(b) > 0 {", nestedTests},
	{"hostile bytes", "other messages of a stream are not looked at", "grid/internal/transport/gossipstream.go",
		"	if !isDecoded(kind) {", "	if kind <= gossipError {", nestedTests},
	{"limits", "a create of /v1/ids has no pace", "grid/internal/api/ids.go", "		if !known {", "		if !known && i == nil {",
		[]string{"./grid", "-run", "TestAttackByCreatesOfIDs"}},
	{"shares", "a holder limited to names has every set", "grid/internal/api/access.go",
		"ofOne(security.Number, \"apply for a number of a set\",\n\t\tfunc(in wire.IdentityApplyRequest) string { return " +
			"in.Name })", "row(security.Number, \"\")", numbersAttackTests},
	{"shares", "a holder takes every set", "grid/numbershares.go",
		"	if err = checkShare(p, before, after, c); err == nil {", "	if err == nil {", numbersAttackTests},
	{"shares", "a caller is not passed on to the leader", "grid/leaderrequests.go",
		"			ctx = api.OnBehalf(ctx, *via.Caller)\n",
		"			_ = ctx\n", numbersAttackTests},
	{"shares", "a holder registers a number as a member", "grid/numbers.go",
		"	case in.Member != \"\" && api.PeerOf(ctx).Role != security.Member:", "	case in.Member == \"-\":",
		numbersAttackTests},
	{"shares", "a list shows the sets of others", "grid/numbers.go", "		if !peer.MayUse(s.Name) {",
		"		if !peer.MayUse(s.Name) && o == nil {", numbersAttackTests},
	{"push", "pages of two rosters are one", "grid/pushpages.go", "in.At != of.At || ", "",
		[]string{"./grid", "-run", "TestRosterIsPushedInPages"}},
	{"push", "a page out of order counts", "grid/pushpages.go", " || in.Offset != len(p.have) {", " {",
		[]string{"./grid", "-run", "TestRosterIsPushedInPages"}},
	{"limits", "a status is gathered for each caller", "grid/statuscache.go", "l.next, l.next == nil\n",
		"(*pendingStatus)(nil), true\n", looksTests},
	{"limits", "a status from before a request answers it", "grid/statuscache.go",
		"		l.next = nil\n		l.mu.Unlock()\n		n.status = gather()\n",
		"		l.mu.Unlock()\n		n.status = gather()\n		l.next = nil\n", looksTests},
	{"limits", "a reader asks without a pace", "grid/statuscache.go", "	if p.ID == \"\" || p.Role == security.Member {",
		"	if p.ID == \"\" || p.Role != security.NoRole {", looksTests},
	{"authority", "every user may read the key of a member", "internal/authority/modes.go",
		"mode&0o007 != 0", "mode&0o1000 != 0",
		[]string{"./cmd/snowgrid", "-run", "TestConfigCheckOfCertificates"}},
	{"ops", "an idle connection keeps its place", "cmd/snowgrid/opsconnections.go", "		_ = oldest.Close()\n",
		"		_ = conn.Close()\n", opsAttackTests},
	{"ops", "the debug pages answer requests for any host", "cmd/snowgrid/ops.go",
		"if !wire.IsLoopback(r.Host) || ", "if !wire.IsLoopback(r.Host) && r == nil || ", opsAttackTests},
}

var (
	accessTests = []string{"./grid/internal/api"}
	roleTests   = []string{"./grid/gridtest", "-run", "TestRolesInAGrid|TestAuditNames|TestCertificateWithout"}
)
