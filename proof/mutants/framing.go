package main

var (
	frameTests       = []string{"./internal/wire/frame"}
	quickServerTests = []string{"./grid/internal/api", "-run", "Quick|Pushed"}
	quickTests       = []string{"./internal/wire", "-run", "Quick"}
	framesTests      = []string{"./internal/frames"}
	frameClientTests = []string{"./internal/calls", "-run", "OneDial|Paced|DialedAgain|UnderWay|WithoutFrames|EndedUpgrade"}
	frameServerTests = []string{"./grid", "-run", "^Test(Frames(Are|End|Follow)|Upgrade)"}
)

// quickMutants remove checks from hand-written decoders.
var quickMutants = []mutant{
	{"quick", "a decoder by hand reads capital digits", "internal/wire/unpack.go", "	for i, c := range \"0123456789abcdef\" {", "	for i, c := range \"0123456789Abcdef\" {", quickTests},
	{"quick", "a decoder by hand reads a number that its field cannot hold", "internal/wire/unpack.go", "	if n > most {\n", "	if n > most && most == 0 {\n", quickTests},
	{"quick", "a decoder by hand makes lists of any size", "internal/wire/unpack.go", "n == 0 || n > MaxElements || u.room < 0 || n > len(u.rest)", "n == 0", quickTests},
	{"quick", "a decoder by hand ignores what follows the value", "internal/wire/quick.go", "u.bad || len(u.rest) > 0", "u.bad", quickTests},
	{"quick", "a decoder by hand ignores fields beyond those it knows", "internal/wire/unpack.go", "	if left != 0 {\n", "	if left < 0 {\n", quickTests},
	{"quick", "a number is encoded in fewer bytes than it has", "internal/wire/pack.go", "	case n < 1<<16:\n		*p = bigEndian(append(*p, packUint8+1), n, 2)", "	case n < 1<<17:\n		*p = bigEndian(append(*p, packUint8+1), n, 2)", quickTests},
}

// quickRequestMutants remove checks from requests that need no goroutine.
var quickRequestMutants = []mutant{
	{"quick", "a quick request needs no role", "grid/internal/api/quick.go", "if err := Authorize(q, a.cfg.Audit, row.action, \"\"); err != nil {", "if err := Authorize(q, a.cfg.Audit, row.action, \"\"); err != nil && head.Length == 1 {", frameServerTests},
	{"quick", "a quick call for another member counts", "grid/internal/api/quick.go", "if c.target || head.Target != \"\" {", "if c.target && head.Target == \"\" {", quickServerTests},
	{"quick", "any number of quick requests is served", "grid/internal/api/quick.go", "	if !c.target {\n		if q.leave", "	if !c.target && head.Timeout == 1 {\n		if q.leave", quickServerTests},
	{"quick", "a quick request is neither checked nor charged by its names", "grid/internal/api/quick.go", "return in, a.authorizeUses(q, http.MethodPost, head.Path, in)", "return in, nil", quickServerTests},
	{"quick", "a shut gate lets quick calls through", "grid/internal/api/quick.go", "case c.target && a.cfg.Open != nil && !a.cfg.Open():", "case c.target && a.cfg.Open == nil:", quickServerTests},
	{"quick", "the bytes of quick requests stay charged", "grid/internal/api/quick.go", "		q.of.conn.releaseBody(int64(q.request.Head.Length))\n", "		_ = q.of\n", quickServerTests},
	{"quick", "the limit of a request's context does not count", "internal/frames/serve.go", "if r.exchange.limit(by) {", "if r.exchange.limit(by) && by.IsZero() {", framesTests},
	{"quick", "any number of calls is started", "internal/frames/client.go", "c.link.open.Load() >= startedMax", "c.link.open.Load() < 0", framesTests},
	{"quick", "a started call does not end with its connection", "internal/frames/client.go", "			call.fail(c.link.reason())\n", "			_ = call\n", framesTests},
	{"push", "a stream that has ended keeps its place", "internal/frames/serve.go", "		x.server.forget(x)\n		x.server.open.Add(-1)\n	})", "		x.server.open.Add(-1)\n	})", framesTests},
	{"push", "any number of bytes waits for a caller that reads nothing", "internal/frames/frames.go", "!beyond && len(l.out) >= queueMax", "!beyond && len(l.out) < 0", framesTests},
	{"push", "the end of a connection is not told to a stream that is delivered", "internal/frames/client.go", "			_ = call.delivered()\n", "", framesTests},
	{"push", "an event stream needs no role", "grid/internal/api/eventpush.go", "row.action, \"\"); err != nil {", "row.action, \"\"); err != nil && q.request.Head.Length == 1 {", frameServerTests},
	{"push", "a stream has the events of others", "grid/internal/api/eventpush.go", "return event.Name == \"\" || PeerOf", "return event.Name != \"\" || PeerOf", quickServerTests},
	{"push", "a holder has two streams", "grid/internal/api/events.go", "		old.end()\n", "		_ = old\n", quickServerTests},
	{"push", "an address may have any number of streams in frames", "grid/internal/api/eventpush.go", "	leave, err := f.conn.openStream(a.events, PeerOf(q).ID)\n", "	leave, err := (&connection{}).openStream(a.events, string(in.Holder))\n", quickServerTests},
	{"quick", "a started call has no time limit", "internal/frames/client.go", "	c.late.note(by)\n	c.link.force", "	c.link.force", framesTests},
}

// framingMutants remove limits and rules from framed connections.
var framingMutants = []mutant{
	{"frames", "a payload of any length is read", "internal/wire/frame/frame.go", "case h.Length > longest[h.Kind]:", "case h.Length > 1<<31:", frameTests},
	{"frames", "a frame of an unknown kind is read", "internal/wire/frame/frame.go", "h.Kind < Request || h.Kind > Pong", "h.Kind < Request || h.Kind > Pong+1", frameTests},
	{"frames", "an exchange may have the number 0", "internal/wire/frame/frame.go", "case (h.Number == 0) != (h.Kind >= Ping):", "case h.Number != 0 && h.Kind >= Ping:", frameTests},
	{"frames", "a head takes bytes of the body", "internal/wire/frame/frame.go", "len(fields) == 0 || len(fields) <= int(fields[0])", "len(fields) == 0 && len(rest) == 0", frameTests},
	{"frames", "a request has more of its body with it than it may", "internal/wire/frame/frame.go", "len(rest) > Inline || len(rest) != int(min(h.Length, Inline))", "len(rest) > int(h.Length)", frameTests},
	{"frames", "any number of requests of a connection is served", "internal/frames/serve.go", "full := len(s.exchanges) >= StreamsMax", "full := len(s.exchanges) < 0", framesTests},
	{"frames", "a number in use is used again", "internal/frames/serve.go", "	if used {\n", "	if used && full {\n", framesTests},
	{"frames", "a handler does not hear that its caller has gone", "internal/frames/serve.go", "if x := s.exchange(h.Number); x != nil {\n			x.cancel()", "if x := s.exchange(h.Number); x != nil {\n			_ = x", framesTests},
	{"frames", "a body arrives that the member did not ask for", "internal/frames/body.go", "if !b.asked || int64(len(data)) > b.left {", "if int64(len(data)) > b.left {", framesTests},
	{"frames", "the queue of frames has no limit", "internal/frames/frames.go", "		if len(l.out) < queueMax {\n			l.append(h, head, body)", "		if len(l.out) >= 0 {\n			l.append(h, head, body)", framesTests},
	{"frames", "half a frame keeps its connection", "internal/frames/watch.go", "w.stuckRead >= stuckPeriods", "w.stuckRead < 0", framesTests},
	{"frames", "a peer that reads nothing keeps its connection", "internal/frames/watch.go", "return l.stuckWrite >= stuckPeriods", "return l.stuckWrite < 0", framesTests},
	{"frames", "a silent peer keeps its connection", "internal/frames/watch.go", "w.silent >= silentPeriods", "w.silent < 0", framesTests},
	{"frames", "connections without calls stay", "internal/frames/watch.go", "w.unused >= l.idle", "w.unused < 0", framesTests},
	{"frames", "a ping has no answer", "internal/frames/client.go", "		c.link.offer(frame.Header{Kind: frame.Pong})\n", "", framesTests},
	{"frames", "the member is not told that a call was given up", "internal/frames/call.go", "if ended && !last {", "if ended && last {", framesTests},
	{"frames", "an answer of any length is kept", "internal/frames/call.go", "len(call.have)+len(payload) > wire.MaxBody", "len(call.have)+len(payload) < 0", framesTests},
	{"frames", "parts of an answer in any order", "internal/frames/call.go", "call.begun != (h.Kind == frame.Data) || call.last", "call.last", framesTests},
	{"frames", "a call that did not begin is taken for one that did", "internal/frames/client.go", "			err = failure.Errorf(ErrNotSent, \"%w\", err)\n", "			err = failure.Errorf(ErrEnded, \"%w\", err)\n", framesTests},
	{"frames", "each call dials", "internal/calls/frames.go", "	if line.attempt.usable() {\n", "	if line.attempt.usable() && line.attempt.conn != nil {\n", frameClientTests},
	{"frames", "refused dials follow each other immediately", "internal/calls/frames.go", "pause, closes := backoff(line.failures), f.closes", "pause, closes := backoff(0), f.closes", frameClientTests},
	{"frames", "the pause between dials grows without end", "internal/calls/frames.go", "return rand.N(min(backoffBase<<min(failures-1, 10), backoffMax)) + 1", "return rand.N(backoffBase<<min(failures-1, 10)) + 1", frameClientTests},
	{"frames", "a connection opened during Close stays", "internal/calls/frames.go", "a.conn != nil && f.closes != closes", "a.conn != nil && f.closes < closes", frameClientTests},
	{"frames", "a member that is full is called over HTTP", "internal/calls/upgrade.go", "	case res.StatusCode == http.StatusServiceUnavailable:\n", "	case res.StatusCode == http.StatusServiceUnavailable && res.Close:\n", frameClientTests},
	{"frames", "a member that ends an upgrade is called over HTTP", "internal/calls/frames.go", "errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)", "errors.Is(err, io.ErrShortWrite)", frameClientTests},
	{"frames", "each call to a member without frames asks for them", "internal/calls/frames.go", "if time.Now().Before(line.plainUntil) {", "if time.Now().Before(line.plainUntil) && line.failures > 0 {", frameClientTests},
	{"frames", "a browser's page is upgraded", "grid/internal/api/frames.go", "case r.Header.Get(\"Origin\") != \"\" || r.Header.Get(\"Sec-Fetch-Site\") != \"\":", "case r.Header.Get(\"Sec-Fetch-Site\") != \"\":", frameServerTests},
	{"frames", "any release is upgraded", "grid/internal/api/frames.go", "	return wire.CheckRelease(r.Header)\n", "	return nil\n", frameServerTests},
	{"frames", "framed connections outlive their member", "grid/internal/api/frames.go", "	for conn := range f.open {\n		_ = conn.Close()\n	}", "", []string{"./grid/internal/api", "-run", "CloseEndsFramed"}},
	{"frames", "a call for another incarnation counts", "grid/internal/api/frames.go", "	stated(wire.HeaderTarget, r.Head.Target)\n", "", frameServerTests},
	{"frames", "a call of another grid counts", "grid/internal/api/frames.go", "	stated(wire.HeaderGrid, r.Head.Grid)\n", "", frameServerTests},
	{"frames", "a token is not passed on", "grid/internal/api/frames.go", "		header[\"Authorization\"] = f.authorization\n", "", frameServerTests},
}
