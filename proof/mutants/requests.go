package main

// Tests for decoding, the HTTP API and its error messages.
var (
	wireTests   = []string{"./internal/wire"}
	answerTests = []string{"./internal/calls", "-run", "OfALater"}
	inputTests  = []string{"./grid/internal/gossip", "./grid/internal/formation", "./grid", "-run", "OfALater|Identity"}
	logTests    = []string{"./grid/internal/librarylog", "./grid", "-run",
		"Mismatch|TestReportsOfAKind|TestKindOf|LibraryLevels"}
	httpTests = []string{"./grid", "-run",
		"TestAPI(UnknownPath|RefusesOther|WantsContent|CreateWithout|IDsCreate|SlowClients)"}
)

// requestMutants weaken the promises about requests, replies and stored files.
var requestMutants = []mutant{
	{"decoding", "an added field of an answer is refused", "internal/calls/calls.go",
		"wire.DecodeTolerant(wire.MsgPack, data, out)", "wire.Decode(wire.MsgPack, data, out)", answerTests},
	{"decoding", "an added field of an error is refused", "internal/calls/calls.go",
		"wire.DecodeTolerant(wire.MsgPack, body, &e)", "wire.Decode(wire.MsgPack, body, &e)", answerTests},
	{"decoding", "an added field of a member's call is refused", "grid/internal/api/call.go",
		"wire.DecodeRequest(kind, body, &in)", "wire.Decode(kind, body, &in)", inputTests},
	{"decoding", "a misspelled field of a person's request is ignored", "grid/internal/api/call.go",
		"wire.DecodeRequest(kind, body, &in)", "wire.DecodeTolerant(kind, body, &in)", inputTests},
	{"decoding", "an added field in gossip makes a member unknown", "grid/internal/gossip/gossip.go",
		"wire.DecodeTolerant(wire.MsgPack, n.Meta, &p)", "wire.Decode(wire.MsgPack, n.Meta, &p)", inputTests},
	{"decoding", "an added field of an event ends the stream", "internal/wire/codec.go",
		"	err := DecodeTolerant(MsgPack, data, &e)\n", "	err := Decode(MsgPack, data, &e)\n", wireTests},
	{"decoding", "an unknown field of a roster command or a snapshot is ignored", "internal/wire/formatted.go",
		"	return format, Decode(MsgPack, data[1:], v)\n", "	return format, DecodeTolerant(MsgPack, data[1:], v)\n",
		wireTests},
	{"formats", "an identity of a later format is read", "internal/identity/files.go",
		"wire.CheckFormat(head.Format, Format)", "wire.CheckFormat(min(head.Format, Format), Format)",
		inputTests},
	{"formats", "the identity file may hold more than what its checksum covers", "internal/durable/sealed.go",
		"err != nil || !bytes.Equal(again, data) {", "err != nil || bytes.Equal(again, nil) {", inputTests},
	{"HTTP", "the origin is checked before the path", "grid/internal/api/routes.go",
		"	if err == nil {\n		err = t.origins.Check(r)\n	}", "	if e := t.origins.Check(r); e != nil {\n		err = e\n	}",
		httpTests},
	{"HTTP", "a wrong method has no Allow", "grid/internal/api/routes.go", "w.Header().Set(\"Allow\", allow(methods))",
		"_ = allow(methods)", httpTests},
	{"HTTP", "pages of other origins may change things", "internal/wire/origins.go",
		"if err := o.protection.Check(r); err != nil {",
		"if err := o.protection.Check(r); err != nil && r.Method == http.MethodGet {", httpTests},
	{"HTTP", "a rebound name is an origin like any other", "internal/wire/origins.go",
		"&& o.Loopback && !IsLoopback(r.Host)", "&& !o.Loopback && !IsLoopback(r.Host)", httpTests},
	{"HTTP", "a missing Content-Type means JSON", "internal/wire/codec.go", "	if kind, _, err := " +
		"mime.ParseMediaType(header); err == nil && (kind == MsgPack || kind == JSON) {",
		"	if header == \"\" {\n		return JSON, nil\n	}\n	if kind, _, err := mime.ParseMediaType(header); err == nil && " +
			"(kind == MsgPack || kind == JSON) {", httpTests},
	{"HTTP", "a refused request may send its body indefinitely", "grid/internal/api/answer.go",
		"	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) // not every connection can\n",
		"	_ = time.Now().Add(bodyTimeout)\n", httpTests},
	{"HTTP", "an epoch left out is 1970", "internal/wire/messages.go", "cfg := sequencer.Config{Epoch: epoch.Default, " +
		"Nodes: r.Nodes, Layout: sequencer.Layout(r.Layout),",
		"cfg := sequencer.Config{Epoch: epoch.UnixMilli(0), Nodes: r.Nodes, Layout: sequencer.Layout(r.Layout),", httpTests},
	{"HTTP", "create is ignored by POST /v1/ids", "grid/internal/api/ids.go", "	if in.Create == nil {",
		"	if in.Create == nil || in.Name != \"\" {", httpTests},
	{"texts", "an error says its sentinel's sentence as well", "grid/internal/refusal/refusal.go",
		"return failure.Errorf(sequencer.ErrInvalidConfig, \"grid: \"+format, args...)",
		"return failure.Errorf(sequencer.ErrInvalidConfig, \"grid: \"+sequencer.ErrInvalidConfig.Error()+\": grid: " +
			"\"+format, args...)", []string{"./grid", "-run", "TestConfigRefused"}},
	{"texts", "each try of a call that gave up is said", "client/call.go", "slices.Compact(lines)", "lines",
		[]string{"./client", "-run", "GaveUp"}},
	{"texts", "a reader of the output that ends is an error", "cmd/snowgrid/main.go", "case err == nil, readerGone(err):",
		"case err == nil:", []string{"./cmd/snowgrid", "-run", "TestClosedOutputIsNoError"}},
	{"texts", "a connection that ends is taken for a reader that does", "cmd/snowgrid/main.go",
		"&& !errors.As(err, &connection)", "&& (true || errors.As(err, &connection))",
		[]string{"./cmd/snowgrid", "-run", "TestClosedOutputIsNoError"}},
	{"logs", "errors of Raft are for debugging", "grid/internal/librarylog/librarylog.go",
		"	case level >= hclog.Error && !closed:", "	case level > hclog.Error && !closed:", logTests},
	{"logs", "errors of gossip are for debugging", "grid/internal/librarylog/librarylog.go",
		"	case \"ERR\", \"ERROR\":\n		return slog.LevelWarn,",
		"	case \"ERR\", \"ERROR\":\n		return slog.LevelDebug,", logTests},
	{"logs", "a certificate that does not match is told nowhere", "grid/internal/api/caller.go",
		"	if librarylog.IsTLS(err) {", "	if librarylog.IsTLS(err) && limit < 0 {", logTests},
	{"logs", "each error of a kind is logged", "grid/internal/librarylog/librarylog.go",
		"known != nil && now-known.at < reportEvery", "known != nil && now < known.at", logTests},
	{"logs", "addresses make errors of many kinds", "grid/internal/librarylog/librarylog.go", "			words[i] = \"#\"\n",
		"			words[i] = word\n", logTests},
}
