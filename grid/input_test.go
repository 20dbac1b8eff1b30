package grid_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// startOne starts a grid of one member with listeners on loopback.
func startOne(t *testing.T, change func(*grid.Config)) *grid.Member {
	t.Helper()
	cfg := grid.Config{
		GossipAddr: "127.0.0.1:0", RaftAddr: "127.0.0.1:0", APIAddr: "127.0.0.1:0",
		Expect: 1, DataDir: t.TempDir(), Logger: testLogger(),
	}
	if change != nil {
		change(&cfg)
	}
	m, err := grid.Start(testContext(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// browser speaks HTTP to a member without anything of snowgrid's client.
type browser struct {
	t      *testing.T
	m      *grid.Member
	client *http.Client
}

// newBrowser returns one for HTTP/1.1, or for HTTP/2 in clear text.
func newBrowser(t *testing.T, m *grid.Member, version int) *browser {
	var protocols http.Protocols
	protocols.SetHTTP1(version == 1)
	protocols.SetUnencryptedHTTP2(version == 2)
	transport := &http.Transport{Protocols: &protocols}
	t.Cleanup(transport.CloseIdleConnections)
	return &browser{t: t, m: m, client: &http.Client{Transport: transport, Timeout: 20 * time.Second}}
}

// send makes a request; members are addressed as they address each other.
func (b *browser) send(method, path, contentType string, body io.Reader) (status int, header http.Header,
	answer []byte) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, "http://"+b.m.Addrs().API+path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if strings.HasPrefix(path, "/v1/member/") {
		s := b.m.Status()
		req.Header.Set(wire.HeaderTarget, s.Answering)
		req.Header.Set(wire.HeaderGrid, s.Grid)
	}
	res, err := b.client.Do(req)
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(res.Body, 64<<20))
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, path, err)
	}
	return res.StatusCode, res.Header, answer
}

// post sends a value in JSON or msgpack.
func (b *browser) post(path, kind string, in any) (status int, answer []byte) {
	b.t.Helper()
	body, err := wire.Encode(kind, in)
	if err != nil {
		b.t.Fatal(err)
	}
	status, _, answer = b.send(http.MethodPost, path, kind, bytes.NewReader(body))
	return status, answer
}

// refused wants an answer that is a refusal: of the client's making, typed, in
// the encoding that was asked in. It returns the error's code.
func refused(t *testing.T, what string, status int, kind string, answer []byte) string {
	t.Helper()
	var e wire.Error
	if err := wire.Decode(kind, answer, &e); err != nil || e.Code == "" || len(e.Message) < 10 || len(e.Message) > 1000 {
		t.Errorf("%s: status %d, no typed error: %.200q (%v)", what, status, answer, err)
	}
	saysOnce(t, e.Message)
	if status < 400 || status > 499 {
		t.Errorf("%s: status %d, want one of 400 to 499; %+v", what, status, e)
	}
	return e.Code
}

// prefixes match the prefix of an error: the package, or a sequencer.
var prefixes = regexp.MustCompile(`\b(grid|client|owner|wire|partition|backup|sequencer|sequencer "[^"]*"): `)

// saysOnce wants one prefix in an error's text, at its beginning, and no sentence twice.
func saysOnce(t *testing.T, text string) {
	t.Helper()
	if at := prefixes.FindAllStringIndex(text, -1); len(at) != 1 || at[0][0] != 0 {
		t.Errorf("%d prefixes: %q", len(at), text)
	}
	seen := map[string]bool{}
	for _, part := range strings.Split(text, ": ") {
		if len(part) > 12 && seen[part] {
			t.Errorf("%q is said twice: %q", part, text)
		}
		seen[part] = true
	}
}

// serves wants the member to do its work still.
func serves(t *testing.T, m *grid.Member) {
	t.Helper()
	ctx := testContext(t)
	s, err := m.CreateSequencer(ctx, "still-here", sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(ctx); err != nil {
		t.Fatal(err)
	}
	within(t, apiPatience, "ready", m.Ready) // on a busy machine the leader may doubt a member for a moment
}

// valid is a request of each path that decodes, to be spoiled in all ways.
var valid = map[string]any{
	wire.PathCreate:    wire.CreateRequest{Name: "orders", Epoch: new(epoch.Default.UnixMilli())},
	wire.PathOpen:      wire.OpenRequest{Name: "orders"},
	wire.PathAttach:    wire.AttachRequest{Holder: "h", Claim: wire.Claim{ID: attachment.ID{1}}},
	wire.PathRenew:     wire.RenewRequest{Holder: "h", Claims: []wire.Claim{{}, {}}},
	wire.PathDetach:    wire.DetachRequest{Holder: "h", Sequencer: wire.Sequencer{Name: "orders"}},
	wire.PathDestroy:   wire.DestroyRequest{Name: "orders"},
	wire.PathEvents:    wire.EventsRequest{Holder: "h"},
	wire.PathDirectory: wire.DirectoryRequest{},
	wire.PathStatus:    wire.StatusRequest{},
	wire.PathIDs:       wire.IDsRequest{Name: "orders", N: new(5)},
	wire.PathGrants:    wire.GrantRequest{Name: "orders"},
	wire.PathHello:     wire.HelloRequest{},
	wire.PathAccept:    wire.AcceptRequest{BootstrapMember: "f"},
	wire.PathJoin:      wire.JoinRequest{Server: "s"},
	wire.PathLeave:     wire.LeaveRequest{Server: "s"},
	wire.PathEarlier:   wire.EarlierRequest{Until: 1},

	wire.PathIdentityNext:     wire.IdentityNextRequest{Cluster: "c", Name: "web"},
	wire.PathIdentityApply:    wire.IdentityApplyRequest{Cluster: "c", Name: "web", ID: 1, Code: numbers.Code{1}},
	wire.PathIdentityRegister: wire.IdentityRegisterRequest{Cluster: "c", Name: "web", ID: 1, Code: numbers.Code{1}},
	wire.PathIdentityClean:    wire.IdentityCleanRequest{Cluster: "c", Name: "web", IDs: []uint64{1}},
	wire.PathIdentityImport:   wire.IdentityImportRequest{Cluster: "c", Name: "web", Next: 2},
}

// spoiled returns invalid bodies for a path, by the kind of error.
func spoiled(t *testing.T, path, kind string) map[string][]byte {
	t.Helper()
	good, err := wire.Encode(kind, valid[path])
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{
		"nothing":        {},
		"trailing value": append(slices.Clone(good), good...),
		"zeros":          make([]byte, 100),
		"a little over":  append(slices.Clone(good), bytes.Repeat([]byte{' '}, wire.MaxBody+1-len(good))...),
	}
	for n := 1; n < len(good); n += max(1, len(good)/20) {
		out[fmt.Sprintf("the first %d of %d bytes", n, len(good))] = good[:n]
	}
	if kind == wire.JSON {
		out["unknown field"] = []byte(`{"colour":"red"}`) // in msgpack it is ignored
		for _, text := range []string{`[]`, `"text"`, `12`, `{"name":`, `{"name":1}`, `{"n":1e99}`, `{"nodes":"1"}`,
			`{"name":"a"}}`,
			`{"holder":[[[[`, `{]`, "\xff\xfe", `{"claims":{}}`, strings.Repeat("[", 1e5), strings.Repeat(`{"a":`, 1e5),
			`[` + strings.Repeat("0,", 1e5) + `0]`} {
			out[fmt.Sprintf("%.20s", text)] = []byte(text)
		}
		return out
	}
	for _, raw := range []string{
		"\xc1", "\x90", "\x2a", "\xa1x", "\xcb00000000", // no map
		"\xdf\xff\xff\xff\xff", "\xdd\xff\xff\xff\xff", "\xdb\xff\xff\xff\xff", "\xc6\xff\xff\xff\xff",
		"\xc9\xff\xff\xff\xff\x01",
		"\x81\xa4name\xdb\xff\xff\xff\xff", "\x81\xa4name\xc6\x7f\xff\xff\xff", "\x81\xa6claims\xdd\x7f\xff\xff\xff",
		"\x81\xa6claims\xdf\xff\xff\xff\xff",
		"\x81\xa6holder\xdb\xff\xff\xff\xfe", "\x81\xdb\xff\xff\xff\xff", "\x81\xa5claim\xdf\xff\xff\xff\xff",
		strings.Repeat("\x91", 1e5), strings.Repeat("\x81\xa1a", 1e5), "\xdc\xff\xff" + strings.Repeat("\x00", 65535),
	} {
		out[fmt.Sprintf("%.12x", raw)] = []byte(raw)
	}
	return out
}

func TestAPISpoiledBodies(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	m := startOne(t, nil)
	for version := 1; version <= 2; version++ {
		b := newBrowser(t, m, version)
		for path := range valid {
			for _, kind := range []string{wire.JSON, wire.MsgPack} {
				for wrong, body := range spoiled(t, path, kind) {
					status, header, answer := b.send(http.MethodPost, path, kind, bytes.NewReader(body))
					what := fmt.Sprintf("HTTP/%d %s %s, %s", version, path, kind, wrong)
					if code := refused(t, what, status, kind, answer); code != "bad_request" {
						t.Errorf("%s: code %q", what, code)
					}
					if header.Get("Content-Type") != kind {
						t.Errorf("%s: answered in %q", what, header.Get("Content-Type"))
					}
				}
			}
		}
	}
	serves(t, m)
}

func TestAPIWrongRequests(t *testing.T) {
	t.Parallel()
	m := startOne(t, nil)
	for version := 1; version <= 2; version++ {
		b := newBrowser(t, m, version)
		for path, in := range valid {
			body, err := wire.Encode(wire.JSON, in)
			if err != nil {
				t.Fatal(err)
			}
			for _, contentType := range []string{"text/plain", "application/x-www-form-urlencoded", "application/cbor", ";;;",
				"application/json/x", strings.Repeat("a", 3000)} {
				status, _, answer := b.send(http.MethodPost, path, contentType, bytes.NewReader(body))
				refused(t, fmt.Sprintf("%s as %.40s", path, contentType), status, wire.JSON, answer)
			}
			for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete, http.MethodPatch, "DANCE"} {
				if path == wire.PathStatus && method == http.MethodGet || path == wire.PathGrants && method == http.MethodDelete {
					continue
				}
				status, header, answer := b.send(method, path, wire.JSON, nil)
				refused(t, method+" "+path, status, wire.JSON, answer)
				if status != http.StatusMethodNotAllowed || !strings.Contains(header.Get("Allow"), http.MethodPost) {
					t.Errorf("%s %s: status %d, Allow %q", method, path, status, header.Get("Allow"))
				}
			}
		}
		for _, path := range []string{"/v1", "/v1/", "/v1/nothing", "/v2/ids", "/v1/ids/1", "/v1/member/nothing"} {
			status, _, answer := b.send(http.MethodPost, path, wire.JSON, strings.NewReader("{}"))
			if refused(t, path, status, wire.JSON, answer); status != http.StatusNotFound {
				t.Errorf("%s: status %d", path, status)
			}
		}
		// A header that is too large ends before it is understood.
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+m.Addrs().API+"/livez", nil)
		req.Header.Set("X-Large", strings.Repeat("x", 1<<20))
		if res, err := b.client.Do(req); err == nil {
			if res.Body.Close(); res.StatusCode < 400 {
				t.Errorf("a header of a megabyte: status %d", res.StatusCode)
			}
		}
	}
	serves(t, m)
}

// endless is a body of many bytes that counts how many were taken.
type endless struct {
	left  int64
	taken atomic.Int64
}

func (e *endless) Read(p []byte) (int, error) {
	n := int(min(int64(len(p)), e.left))
	if n == 0 {
		return 0, io.EOF
	}
	e.left -= int64(n)
	e.taken.Add(int64(n))
	for i := range p[:n] {
		p[i] = ' '
	}
	return n, nil
}

// TestAPIEndlessBody streams 100 MiB and wants to be refused long before the end.
func TestAPIEndlessBody(t *testing.T) { // not parallel: it looks at the process's memory
	m := startOne(t, nil)
	const size = 100 << 20
	for version := 1; version <= 2; version++ {
		b := newBrowser(t, m, version)
		for path := range valid {
			body := &endless{left: size}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+m.Addrs().API+path,
				io.NopCloser(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", wire.JSON)
			if strings.HasPrefix(path, "/v1/member/") {
				s := m.Status()
				req.Header.Set(wire.HeaderTarget, s.Answering)
				req.Header.Set(wire.HeaderGrid, s.Grid)
			}
			res, err := b.client.Do(req)
			if err == nil { // the connection may have been closed over it instead
				answer, _ := io.ReadAll(res.Body)
				_ = res.Body.Close()
				refused(t, path, res.StatusCode, wire.JSON, answer)
			}
			runtime.ReadMemStats(&after)
			if taken := body.taken.Load(); taken > 16<<20 {
				t.Errorf("HTTP/%d %s: %d MiB were taken", version, path, taken>>20)
			}
			if grown := int64(after.TotalAlloc - before.TotalAlloc); grown > 32<<20 {
				t.Errorf("HTTP/%d %s: %d MiB were allocated", version, path, grown>>20)
			}
		}
	}
	serves(t, m)
}

func TestAPIValues(t *testing.T) {
	t.Parallel()
	m := startOne(t, nil)
	now := m.Status().ClusterTime // behind the wall clock on a busy machine; epochs are judged by it
	const name = "orders"
	base := epoch.Default.UnixMilli()
	if status, answer := newBrowser(t, m, 2).post(wire.PathCreate, wire.JSON,
		wire.CreateRequest{Name: name, Epoch: new(int64(base))}); status != http.StatusOK {
		t.Fatalf("%d %s", status, answer)
	}
	seq := wire.Sequencer{Name: name, Epoch: base, Nodes: 8192}
	node := func(n sequencer.NodeID) *sequencer.NodeID { return &n }
	id := attachment.ID{7}
	type request struct {
		what, path string
		in         any
	}
	// config are the requests whose definition of a sequencer is invalid; the others are
	// bad requests.
	config := map[string]bool{}
	requests := []request{
		{"127 nodes", wire.PathCreate, wire.CreateRequest{Name: "n", Epoch: new(int64(base)), Nodes: 127}},
		{"8193 nodes", wire.PathCreate, wire.CreateRequest{Name: "n", Epoch: new(int64(base)), Nodes: 8193}},
		{"-1 nodes", wire.PathCreate, wire.CreateRequest{Name: "n", Epoch: new(int64(base)), Nodes: -1}},
		{"half a layout", wire.PathCreate, wire.CreateRequest{Name: "n", Epoch: new(int64(base)),
			Layout: wire.Layout{Bits: 53}}},
		{"15 nodes of a layout", wire.PathCreate, wire.CreateRequest{Name: "n", Epoch: new(int64(base)), Nodes: 15,
			Layout: wire.Layout(sequencer.Twitter())}},
		{"an epoch to come", wire.PathCreate, wire.CreateRequest{Name: "n", Epoch: new(now.Add(time.Hour).UnixMilli())}},
		{"an epoch that is exhausted", wire.PathCreate,
			wire.CreateRequest{Name: "n", Epoch: new(now.UnixMilli() - 1<<40 - 1)}},
		{"an epoch before 1970", wire.PathCreate, wire.CreateRequest{Name: "n", Epoch: new(int64(-1))}},
		{"an epoch beyond all", wire.PathCreate, wire.CreateRequest{Name: "n", Epoch: new(int64(1<<63 - 1))}},
		{"n -1", wire.PathIDs, wire.IDsRequest{Name: name, N: new(-1)}},
		{"n 0", wire.PathIDs, wire.IDsRequest{Name: name, N: new(0)}},
		{"n 1025", wire.PathIDs, wire.IDsRequest{Name: name, N: new(1025)}},
		{"no holder", wire.PathAttach, wire.AttachRequest{Claim: wire.Claim{Sequencer: seq, ID: id}}},
		{"a long holder", wire.PathAttach, wire.AttachRequest{Holder: attachment.HolderID(strings.Repeat("h", 65)),
			Claim: wire.Claim{Sequencer: seq, ID: id}}},
		{"no attachment", wire.PathAttach, wire.AttachRequest{Holder: "h", Claim: wire.Claim{Sequencer: seq}}},
		{"no holder", wire.PathRenew, wire.RenewRequest{}},
		{"a long holder", wire.PathRenew, wire.RenewRequest{Holder: attachment.HolderID(strings.Repeat("h", 65))}},
		{"too many claims", wire.PathRenew, wire.RenewRequest{Holder: "h", Claims: make([]wire.Claim, wire.MaxClaims+1)}},
		{"no holder", wire.PathDetach, wire.DetachRequest{Sequencer: seq, ID: id}},
		{"a long holder", wire.PathDetach, wire.DetachRequest{Holder: attachment.HolderID(strings.Repeat("h", 65)),
			Sequencer: seq, ID: id}},
		{"no holder", wire.PathEvents, wire.EventsRequest{}},
		{"a long holder", wire.PathEvents, wire.EventsRequest{Holder: attachment.HolderID(strings.Repeat("h", 65))}},
		{"no bootstrap member", wire.PathAccept, wire.AcceptRequest{Settings: grid.RosterOf(m).Settings}},
		{"no member", wire.PathJoin, wire.JoinRequest{}},
		{"no member", wire.PathLeave, wire.LeaveRequest{}},
		{"far ahead", wire.PathEarlier, wire.EarlierRequest{Until: 1 << 62}},
	}
	for _, r := range requests {
		config[r.what] = r.path == wire.PathCreate
	}
	for what, bad := range map[string]string{
		"an empty name": "", "256 bytes": strings.Repeat("n", 256), "a line break": "a\nb", "a NUL": "a\x00",
		"a DEL": "a\x7f", "C1": "a\u0085",
	} {
		named := seq
		named.Name = bad
		config[what] = true
		requests = append(requests,
			request{what, wire.PathCreate, wire.CreateRequest{Name: bad, Epoch: new(int64(base))}},
			request{what, wire.PathOpen, wire.OpenRequest{Name: bad}},
			request{what, wire.PathAttach, wire.AttachRequest{Holder: "h", Claim: wire.Claim{Sequencer: named, ID: id}}},
			request{what, wire.PathDetach, wire.DetachRequest{Holder: "h", Sequencer: named, ID: id}},
			request{what, wire.PathDestroy, wire.DestroyRequest{Name: bad}},
			request{what, wire.PathIDs, wire.IDsRequest{Name: bad}},
		)
	}
	for version := 1; version <= 2; version++ {
		b := newBrowser(t, m, version)
		for _, kind := range []string{wire.JSON, wire.MsgPack} {
			for _, r := range requests {
				status, answer := b.post(r.path, kind, r.in)
				want := "bad_request"
				if config[r.what] {
					want = "invalid_config"
				}
				if code := refused(t, r.path+": "+r.what, status, kind, answer); code != want &&
					!strings.Contains(r.what, "exhausted") {
					t.Errorf("%s: %s: code %q, want %q", r.path, r.what, code, want)
				}
			}
			// Each claim of a renewal is refused by itself, in the same order.
			claims := []wire.Claim{
				{Sequencer: wire.Sequencer{Name: "", Epoch: base}, ID: id},
				{Sequencer: wire.Sequencer{Name: name, Epoch: base, Nodes: 127}, ID: id},
				{Sequencer: seq, ID: id, Node: node(8192)},
				{Sequencer: seq, ID: id, Node: node(65535)},
			}
			status, answer := b.post(wire.PathRenew, kind, wire.RenewRequest{Holder: "h", Claims: claims})
			var renewed wire.RenewResponse
			if err := wire.Decode(kind, answer, &renewed); status != http.StatusOK || err != nil ||
				len(renewed.Results) != len(claims) {
				t.Fatalf("status %d, %v: %s", status, err, answer)
			}
			for i, result := range renewed.Results {
				want := "invalid_config" // a bad definition
				if claims[i].Node != nil {
					want = "bad_request"
				}
				if result.Error == nil || result.Error.Code != want || !result.Grant.Empty() {
					t.Errorf("claim %d: %+v, %+v", i, result.Error, result.Grant)
				}
			}
			// A node that does not exist can be neither preferred nor released.
			if status, answer := b.post(wire.PathDetach, kind, wire.DetachRequest{Holder: "h", Sequencer: seq, ID: id,
				Node: 65535}); status >= 500 {
				t.Errorf("detach of node 65535: %d %s", status, answer)
			}
		}
	}
	serves(t, m)
}

// TestAPIPreferredNodeOutOfRange asks for a logical node that the sequencer does
// not have: any other would do, or a refusal.
func TestAPIPreferredNodeOutOfRange(t *testing.T) {
	t.Parallel()
	m := startOne(t, nil)
	b := newBrowser(t, m, 2)
	status, answer := b.post(wire.PathCreate, wire.JSON,
		wire.CreateRequest{Name: "orders", Epoch: new(epoch.Default.UnixMilli()), Nodes: 128})
	var created wire.SequencerResponse
	if err := wire.Decode(wire.JSON, answer, &created); status != http.StatusOK || err != nil {
		t.Fatalf("%d %s", status, answer)
	}
	for _, wish := range []sequencer.NodeID{128, 65535} {
		status, answer := b.post(wire.PathAttach, wire.JSON, wire.AttachRequest{
			Holder: "h", Claim: wire.Claim{Sequencer: created.Sequencer, ID: attachment.ID{byte(wish), 1}, Node: &wish,
				Grid: created.Grid, Version: created.Version},
		})
		var attached wire.AttachResponse
		if status != http.StatusOK {
			refused(t, "attach", status, wire.JSON, answer)
		} else if err := wire.Decode(wire.JSON, answer, &attached); err != nil || attached.Node >= 128 {
			t.Errorf("node %d of 128: %s", attached.Node, answer)
		}
	}
	serves(t, m)
}

// TestAPIBetweenMembers wants calls between members refused unless they are for
// this incarnation and this grid.
func TestAPIBetweenMembers(t *testing.T) {
	t.Parallel()
	m := startOne(t, nil)
	s := m.Status()
	other := strings.Repeat("0", 32)
	headers := map[string][2]string{ // target, grid
		"none":          {},
		"no target":     {"", s.Grid},
		"another start": {s.Answering[:len(s.Answering)-1] + "x", s.Grid},
		"another grid":  {s.Answering, other},
		"no grid":       {s.Answering, ""},
		"long":          {strings.Repeat("x", 4000), strings.Repeat("x", 4000)},
	}
	for _, path := range []string{wire.PathHello, wire.PathAccept, wire.PathJoin, wire.PathLeave, wire.PathEarlier} {
		// Those by which a grid forms name no grid.
		forms := path == wire.PathHello || path == wire.PathAccept
		for what, h := range headers {
			if forms && h[0] == s.Answering {
				continue
			}
			body, err := wire.Encode(wire.JSON, valid[path])
			if err != nil {
				t.Fatal(err)
			}
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+m.Addrs().API+path,
				bytes.NewReader(body))
			req.Header.Set("Content-Type", wire.JSON)
			if h[0] != "" {
				req.Header.Set(wire.HeaderTarget, h[0])
			}
			if h[1] != "" {
				req.Header.Set(wire.HeaderGrid, h[1])
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			answer, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if code := refused(t, path+", "+what, res.StatusCode, wire.JSON, answer); code != "not_addressed" {
				t.Errorf("%s, %s: code %q", path, what, code)
			}
		}
	}
	serves(t, m)
}

// TestAPISlowClients leaves requests unfinished and wants to be cut off.
func TestAPISlowClients(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	m := startOne(t, nil)
	tests := map[string]struct {
		sent  string
		drip  string // sent again and again
		bound time.Duration
	}{
		"says nothing":             {"", "", 8 * time.Second},
		"half a header":            {"POST /v1/ids HTTP/1.1\r\nHost: a\r\nX-", "", 8 * time.Second},
		"a header that never ends": {"POST /v1/ids HTTP/1.1\r\nHost: a\r\nX-A: ", "a", 8 * time.Second},
		"half of HTTP/2's preface": {"PRI * HTTP/2.0\r\n\r\n", "", 8 * time.Second},
		"half a refused body":      {"POST /v1/ids HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\n{", "", 14 * time.Second},
		"half a body for nothing": {"POST /v1/nothing HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\n{", "",
			14 * time.Second},
		"half a body": {"POST /v1/ids HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: " +
			"50\r\n\r\n{", "", 14 * time.Second},
		"a body that never ends": {"POST /v1/ids HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: " +
			"900000\r\n\r\n{", " ", 14 * time.Second},
		"half a chunk": {"POST /v1/events HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: " +
			"chunked\r\n\r\nff\r\n{", "", 14 * time.Second},
	}
	var waiting sync.WaitGroup // concurrently: each takes seconds
	defer waiting.Wait()
	for what, test := range tests {
		conn, err := net.Dial("tcp", m.Addrs().API)
		if err != nil {
			t.Fatal(err)
		}
		waiting.Go(func() {
			defer conn.Close()
			began := time.Now()
			if _, err := io.WriteString(conn, test.sent); err != nil {
				t.Error(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				ticker := time.NewTicker(100 * time.Millisecond)
				defer ticker.Stop()
				for test.drip != "" {
					select {
					case <-ctx.Done():
						return
					case <-ticker.C:
						_, _ = io.WriteString(conn, test.drip)
					}
				}
			}()
			_ = conn.SetReadDeadline(began.Add(test.bound))
			if _, err := io.Copy(io.Discard, conn); isTimeout(err) {
				t.Errorf("%s: still connected after %v", what, time.Since(began))
			}
		})
	}
	// Meanwhile others are served.
	serves(t, m)
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// object decodes a JSON answer as a program without snowgrid's types does.
func object(t *testing.T, answer []byte) map[string]any {
	t.Helper()
	var out map[string]any
	dec := json.NewDecoder(bytes.NewReader(answer))
	dec.UseNumber()
	if err := dec.Decode(&out); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	return out
}
