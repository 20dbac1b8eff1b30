package main

var (
	limitTests    = []string{"./grid/internal/api", "-run", "Places|Shares|KindOf|Bodies|FewWait|OldestRefusal|Resets|HandshakesTakeTurns|EventStreamsAreOf"}
	acceptorTests = []string{"./grid/internal/acceptor"}
	refusedTests  = []string{"./grid", "-run", "^TestTooManyConnectionsAreRefused$"}
)

// limitMutants take away limits of connections, handshakes and bytes of one caller.
var limitMutants = []mutant{
	{"limits", "unfinished handshakes of one address are not bounded", "grid/internal/acceptor/acceptor.go", "case a.of[from] >= a.cfg.PerAddress:", "case a.of[from] < 0:", acceptorTests},
	{"limits", "unfinished handshakes are not bounded", "grid/internal/acceptor/acceptor.go", "case len(a.pending) >= a.cfg.Handshakes:", "case len(a.pending) < 0:", acceptorTests},
	{"limits", "one peer takes all connections", "grid/internal/api/places.go", "share.connections >= limit.peer:", "share.connections < 0:", limitTests},
	{"limits", "a role that is no member's has the share of members", "grid/internal/api/places.go", "case p.Role == security.Member:", "case p.Role != security.NoRole:", limitTests},
	{"limits", "connections of a kind are not bounded", "grid/internal/api/places.go", "case p.all[k.kind] >= limit.all:", "case p.all[k.kind] < 0:", limitTests},
	{"limits", "a connection that has ended keeps its place", "grid/internal/api/places.go", "	p.all[k.kind]--\n	if share.connections--; share.connections == 0 {", "	if share.connections == 0 {", limitTests},
	{"limits", "a body of no stated length is charged nothing", "grid/internal/api/budget.go", "if length < 0 || length > wire.MaxBody {\n		length = wire.MaxBody", "if length < 0 || length > wire.MaxBody {\n		length = 0", limitTests},
	{"limits", "a refused body stays charged to its peer", "grid/internal/api/budget.go", "		own()\n		return func() {}, err", "		return func() {}, err", limitTests},
	{"limits", "any number of requests wait for bytes", "grid/internal/api/budget.go", "if b.waits == 0 {", "if b.waits < -1000 {", limitTests},
	{"limits", "silent refused connections keep health checks out", "grid/internal/api/listener.go", "		oldest = r.conns[0]", "		oldest = conn", limitTests},
	{"limits", "a handshake keeps its turn while it waits to read", "grid/internal/api/handshaketurn.go", "func (c *turnConn) Read(b []byte) (int, error) {\n	if c.turns != nil {", "func (c *turnConn) Read(b []byte) (int, error) {\n	if c.turns != nil && len(b) == 0 {", limitTests},
	{"limits", "a handshake keeps its turn while it waits to write", "grid/internal/api/handshaketurn.go", "func (c *turnConn) Write(b []byte) (int, error) {\n	if c.turns != nil {", "func (c *turnConn) Write(b []byte) (int, error) {\n	if c.turns != nil && len(b) == 0 {", limitTests},
	{"limits", "resets do not end a connection", "grid/internal/api/resets.go", "	return r.count > resetsMax", "	return r.count < 0", limitTests},
	{"limits", "a caller's event streams use up those of another certificate", "grid/internal/api/connection.go", "strings.TrimSpace(c.peer + \" \" + id)", "strings.TrimSpace(c.peer + \" \" + id[:0])", limitTests},
	{"limits", "a connection beyond the limit is closed without an answer", "grid/internal/api/listener.go", "	l.refusals.add(conn)\n	return out, nil", "	_ = conn.Close()\n	return nil, err", refusedTests},
	{"limits", "a connection beyond the limit is served", "grid/internal/api/listener.go", "	refusal := connectionOf(r).refusal\n", "	var refusal error\n", refusedTests},
	{"limits", "health checks beyond the limit are refused", "grid/internal/api/listener.go", "path == \"/livez\" || path == \"/readyz\"", "path == \"/\"", refusedTests},
}
