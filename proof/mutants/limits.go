package main

var (
	limitTests     = []string{"./grid/internal/api", "-run", "Places|Shares|KindOf|Bodies|FewWait|OldestRefusal|Resets|Handshake|EventStreamsAreOf|Input|KeptOut"}
	admissionTests = []string{"./grid/internal/api", "-run", "Admission|FewRequests|Stretch|Median"}
	acceptorTests  = []string{"./grid/internal/acceptor"}
	refusedTests   = []string{"./grid", "-run", "^TestTooManyConnectionsAreRefused$"}
)

// limitMutants take away limits of connections, handshakes and bytes of one caller.
var limitMutants = []mutant{
	{"limits", "unfinished handshakes of one address are not bounded", "grid/internal/acceptor/acceptor.go", "return a.of[from] >= a.cfg.PerAddress ||", "return", acceptorTests},
	{"limits", "unfinished handshakes are not bounded", "grid/internal/acceptor/acceptor.go", "return a.of[from] >= a.cfg.PerAddress || len(a.pending) >= a.cfg.Handshakes", "return a.of[from] >= a.cfg.PerAddress", acceptorTests},
	{"limits", "one peer takes all connections", "grid/internal/api/places.go", "share.connections >= limit.peer:", "share.connections < 0:", limitTests},
	{"limits", "another role than member has the share of members", "grid/internal/api/places.go", "case p.Role == security.Member:", "case p.Role != security.NoRole:", limitTests},
	{"limits", "connections of a kind are not bounded", "grid/internal/api/places.go", "case p.all[k.kind] >= limit.all:", "case p.all[k.kind] < 0:", limitTests},
	{"limits", "a connection that has ended keeps its place", "grid/internal/api/places.go", "	p.all[k.kind]--\n	if share.connections--; share.connections == 0 {", "	if share.connections == 0 {", limitTests},
	{"limits", "a body of no stated length is charged nothing", "grid/internal/api/budget.go", "if length < 0 || length > wire.MaxBody {\n		length = wire.MaxBody", "if length < 0 || length > wire.MaxBody {\n		length = 0", limitTests},
	{"limits", "a refused body stays charged to its peer", "grid/internal/api/budget.go", "		own()\n		return func() {}, err", "		return func() {}, err", limitTests},
	{"limits", "any number of requests wait for bytes", "grid/internal/api/budget.go", "if b.waits == 0 {", "if b.waits < -1000 {", limitTests},
	{"limits", "silent refused connections keep health checks out", "grid/internal/api/listener.go", "		oldest = r.conns[0]", "		oldest = conn", limitTests},
	{"limits", "silent streams displace others without end", "grid/internal/acceptor/acceptor.go", "	if a.paid.Sub(now) > (displacedAtOnce-1)*each {\n		return false", "	if a.paid.Sub(now) > (displacedAtOnce-1)*each {\n		return true", acceptorTests},
	{"limits", "a flood keeps an address with few handshakes out", "grid/internal/acceptor/acceptor.go", "case a.of[from] < a.cfg.Handshakes/fewOf || a.mayDisplace(time.Now()):", "case a.mayDisplace(time.Now()):", acceptorTests},
	{"limits", "streams wait for a place without end", "grid/internal/acceptor/acceptor.go", "		time.AfterFunc(a.cfg.Timeout/expiries, a.expire)\n	}\n	a.mu.Unlock()\n	for _, conn := range gone", "	}\n	a.mu.Unlock()\n	for _, conn := range gone", acceptorTests},
	{"limits", "streams that wait are closed soon, and opened again", "grid/internal/acceptor/acceptor.go", "-WaitTimes * a.cfg.Timeout", "-a.cfg.Timeout", acceptorTests},
	{"limits", "a free place is given to none that waits", "grid/internal/acceptor/acceptor.go", "next != nil {\n		a.start(next, from)", "next != nil && a.closed {\n		a.start(next, from)", acceptorTests},
	{"limits", "a handshake keeps its turn while it waits to read", "grid/internal/api/handshaketurn.go", "	c.leave()\n	n, err := c.Conn.Read(b)", "	n, err := c.Conn.Read(b)", limitTests},
	{"limits", "handshakes compute without a bound", "grid/internal/api/handshaketurn.go", "	t.paid = t.paid.Add(time.Duration(float64(min(took, stretchMax)) / t.share))\n", "", limitTests},
	{"limits", "a long wait for a processor stops all handshakes", "grid/internal/api/handshaketurn.go", "float64(min(took, stretchMax))", "float64(took)", limitTests},
	{"limits", "one address has every turn of handshakes", "grid/internal/api/handshaketurn.go", "			t.order = append(t.order, from)\n		} else {", "			t.order = append([]string{from}, t.order...)\n		} else {", limitTests},
	{"limits", "the oldest handshake of an address has the turn", "grid/internal/api/handshaketurn.go", "		next := all[len(all)-1]\n		if all = all[:len(all)-1]; len(all) > 0 {", "		next := all[0]\n		if all = all[1:]; len(all) > 0 {", limitTests},
	{"limits", "a handshake that is gone keeps the turn", "grid/internal/api/handshaketurn.go", "	if !t.forget(from, mine) {", "	if t.forget(from, mine) && false {", limitTests},
	{"limits", "frames without requests cost a connection nothing", "grid/internal/api/input.go", "i.bytes > unansweredMax+i.declared", "i.bytes < 0", limitTests},
	{"limits", "a refused connection sends as much as others", "grid/internal/api/input.go", "i.refused > 0 && i.bytes > i.refused", "i.refused > 0 && i.bytes < 0", limitTests},
	{"limits", "a connection of a peer that is kept out sends as much as others", "grid/internal/api/input.go", "		return keptOutMax", "		return refusedMax", limitTests},
	{"limits", "the last input of a misused connection is served", "grid/internal/api/input.go", "		c.misused()\n		return 0, net.ErrClosed", "		c.misused()\n		return n, err", limitTests},
	{"limits", "the connections of a peer together have no bound of input", "grid/internal/api/input.go", "i.peer.Load() > peerUnread", "i.peer.Load() < 0", limitTests},
	{"limits", "all connections together have no bound of input", "grid/internal/api/input.go", "i.all.Load() > callerUnread", "i.all.Load() < 0", limitTests},
	{"limits", "a connection that has ended counts for its peer", "grid/internal/api/input.go", "	i.setUnread(0)\n	i.closed = true", "	i.closed = true", limitTests},
	{"limits", "a body that was refused counts as read", "grid/internal/api/input.go", "		if answered && read {\n", "		if answered {\n", limitTests},
	{"limits", "a request that was given up counts as answered", "grid/internal/api/input.go", "		if answered {\n			i.bytes", "		if answered || true {\n			i.bytes", limitTests},
	{"limits", "input counts without end", "grid/internal/api/input.go", "if now.Sub(i.since) > unansweredPeriod {", "if i.since.IsZero() {", limitTests},
	{"limits", "a peer that misused a connection comes back immediately", "grid/internal/api/places.go", "		p.out[k] = now.Add(outFor)", "		p.out[k] = now", limitTests},
	{"limits", "any number of peers is remembered", "grid/internal/api/places.go", "	if len(p.out) < outMax {", "	if len(p.out) >= 0 {", limitTests},
	{"limits", "large bodies are read as fast as they come", "grid/internal/api/budget.go", "	b.paid = b.paid.Add(time.Duration(n) * time.Second / peerRate)\n", "", limitTests},
	{"limits", "small bodies wait for large ones", "grid/internal/api/budget.go", "if c.kind != inClear && length > smallBody {", "if c.kind != inClear {", limitTests},
	{"limits", "queries are served as long as attaches", "grid/internal/api/admission.go", "query: 10 * time.Millisecond", "query: 40 * time.Millisecond", admissionTests},
	{"limits", "creates are served as long as attaches", "grid/internal/api/admission.go", "create: 20 * time.Millisecond", "create: 40 * time.Millisecond", admissionTests},
	{"limits", "renewals are refused like attaches", "grid/internal/api/admission.go", "renewal: math.MaxInt64", "renewal: 40 * time.Millisecond + 0*math.MaxInt8", admissionTests},
	{"limits", "requests are served whose callers do not wait so long", "grid/internal/api/admission.go", "left > 0 && queued*delay > left", "left < 0", admissionTests},
	{"limits", "few requests are refused for the work of others", "grid/internal/api/admission.go", "} else if n > int64(fewRequests*runtime.GOMAXPROCS(0)) {", "} else if n > 0 {", admissionTests},
	{"limits", "requests in progress have no bound", "grid/internal/api/admission.go", "if n > requestsMax {", "if n < 0 {", admissionTests},
	{"limits", "a refused request stays in progress", "grid/internal/api/admission.go", "	a.requests.Add(-1)\n	a.refused.Add(1)", "	a.refused.Add(1)", admissionTests},
	{"limits", "waits of long ago count", "grid/internal/api/queuedelay.go", "below += n - before[i]; 2*below", "below += n; 2*below", admissionTests},
	{"limits", "holders of a busy member renew as usual", "grid/internal/api/admission.go", "return min(float64(a.delay.now())/float64(patience[attach]), 1)", "return 0", admissionTests},
	{"limits", "resets do not end a connection", "grid/internal/api/resets.go", "	return r.count > resetsMax", "	return r.count < 0", limitTests},
	{"limits", "a caller's event streams use up those of another certificate", "grid/internal/api/connection.go", "strings.TrimSpace(c.peer + \" \" + id)", "strings.TrimSpace(c.peer + \" \" + id[:0])", limitTests},
	{"limits", "a connection beyond the limit is closed without an answer", "grid/internal/api/listener.go", "	l.refusals.add(conn)\n	return out, nil", "	_ = conn.Close()\n	return nil, err", refusedTests},
	{"limits", "a connection beyond the limit is served", "grid/internal/api/listener.go", "	refusal := connectionOf(r).refusal\n", "	var refusal error\n", refusedTests},
	{"limits", "health checks beyond the limit are refused", "grid/internal/api/listener.go", "path == \"/livez\" || path == \"/readyz\"", "path == \"/\"", refusedTests},
}
