package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestServesIDsOverHTTP: processes on one directory, one of them killed, give each ID once.
func TestServesIDsOverHTTP(t *testing.T) {
	at := "file:" + t.TempDir()
	seen := unique{}
	first, second := start(t, "--store", at), start(t, "--store", at)
	for _, p := range []*process{first, second} {
		p.ready()
		seen.add(t, p.ids(`{"n":1024}`)...)
		for range 3 {
			seen.add(t, p.ids(`{"name":"default","create":{}}`)...)
		}
	}
	first.kill()
	third := start(t, "--store", at)
	third.ready()
	seen.add(t, third.ids(`{"n":1024}`)...)
	seen.add(t, second.ids(`{"n":1024}`)...)

	orders := unique{}
	body := `{"name":"orders","n":500,"create":{"layout":{"bits":53,"low_bits":12,"nodes":64},"nodes":16}}`
	for _, p := range []*process{second, third, second} {
		for _, id := range p.ids(body) {
			orders.add(t, id)
			if n, err := strconv.ParseInt(id, 10, 64); err != nil || n >= 1<<53 {
				t.Fatalf("ID %s, %v", id, err)
			}
		}
		orders.add(t, p.ids(`{"name":"orders"}`)...)
	}
	second.stop()
	third.stop()
	code, out, errs := command(t, "status", "--store", at)
	if code != 0 || !strings.Contains(out,
		"sequencer orders: alive, epoch 2026-01-01T00:00:00Z, until 2095-09-07, 16 nodes, layout 53/12/64, 16 in use") ||
		strings.Contains(out, "late") {
		t.Errorf("%d %s\n%s", code, errs, out)
	}
}

func TestRefusesRequests(t *testing.T) {
	p := start(t, "--store", "file:"+t.TempDir())
	p.ready()
	p.ids(`{"name":"orders","create":{}}`)
	for _, tc := range []struct {
		body    string
		headers []string
		status  int
		says    string
	}{
		{`{"n":1025}`, nil, 400, "1 to 1024"},
		{`{"n":-1}`, nil, 400, "1 to 1024"},
		{`{"name":"nothing"}`, nil, 404, "not_found"},
		{`{"name":"a\u0000b","create":{}}`, nil, 400, "control character"},
		{`{"name":"orders","create":{"nodes":128}}`, nil, 409, "conflict"},
		{`{"name":"orders","create":{"layout":{"bits":63,"low_bits":22,"nodes":1024}}}`, nil, 409, "63/22/1024"},
		{`{"name":"default","create":{"nodes":128}}`, nil, 409, "conflict"},
		{`{"name":"other","create":{"layout":{"bits":53}}}`, nil, 400, "given together"},
		{`{"nam":"orders"}`, nil, 400, "nam"},
		{`[`, nil, 400, "bad_request"},
		{strings.Repeat(" ", bodyMax+1), nil, 400, "larger than 65536"},
		{`{}`, []string{"Content-Type", "text/plain"}, 415, "content_type"},
		{`{}`, []string{"Sec-Fetch-Site", "cross-site"}, 403, "cross_origin"},
		{`{}`, []string{"Origin", "http://evil.example", "Host", "evil.example"}, 403, "loopback"},
	} {
		if code, text := p.post(tc.body, tc.headers...); code != tc.status || !strings.Contains(text, tc.says) {
			t.Errorf("%.60s %v: %d %s; want %d and %q", tc.body, tc.headers, code, text, tc.status, tc.says)
		}
	}
	for path, want := range map[string]int{"/": 404, "/v1/ids": 405, "/livez": 200, "/readyz": 200, "/ready": 200,
		"/metrics": 200, "/v1/openapi.json": 200} {
		if code, text := p.get(path); code != want {
			t.Errorf("GET %s: %d %s", path, code, text)
		}
	}
	_, text := p.get("/v1/openapi.json")
	var document struct {
		OpenAPI string
		Paths   map[string]any
	}
	if err := json.Unmarshal([]byte(text), &document); err != nil || document.OpenAPI != "3.1.0" {
		t.Errorf("the document %.100s: %v", text, err)
	}
	if got, want := slices.Sorted(maps.Keys(document.Paths)), []string{"/livez", "/readyz", "/v1/ids",
		"/v1/openapi.json"}; !slices.Equal(got, want) {
		t.Errorf("the document has the paths %v, want %v", got, want)
	}
	if _, text := p.get("/metrics"); !strings.Contains(text,
		`snowgrid_serve_requests_total{code="conflict",protocol="http"} 3`) ||
		!strings.Contains(text, `snowgrid_ready{sequencer="default"} 1`) ||
		!strings.Contains(text, `snowgrid_clock_behind_seconds{sequencer="default"} 0`) ||
		!strings.Contains(text, `snowgrid_records_ahead{sequencer="default"} 0`) ||
		!strings.Contains(text, `snowgrid_records_corrupt{sequencer="default"} 0`) {
		t.Error(text)
	}
}

// TestServesIDsOverGRPC is row E14, with a client that is generated from the .proto.
func TestServesIDsOverGRPC(t *testing.T) {
	p := start(t, "--store", "file:"+t.TempDir(), "--layout", "63/22/1024", "--epoch", "1970-01-01")
	p.ready()
	client := p.dial()
	one, err := client.NextID(t.Context(), &emptypb.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	if at := time.UnixMilli(one.GetId() >> 22); time.Since(at).Abs() > time.Minute {
		t.Errorf("ID %d is of %v", one.GetId(), at)
	}
	last := one.GetId()
	for _, n := range []uint32{0, 1, 1024} {
		stream, err := client.NextMultipleIDs(t.Context(), wrapperspb.UInt32(n))
		if err != nil {
			t.Fatal(err)
		}
		got := uint32(0)
		for {
			id, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil || id.GetId() <= last {
				t.Fatalf("ID %d of %d is %d after %d, %v", got, n, id.GetId(), last, err)
			}
			last = id.GetId()
			got++
		}
		if got != n {
			t.Errorf("%d of %d IDs", got, n)
		}
	}
	stream, err := client.NextMultipleIDs(t.Context(), wrapperspb.UInt32(1025))
	if err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "at most 1024") {
		t.Errorf("1025 IDs: %v", err)
	}
	if _, text := p.get("/metrics"); !strings.Contains(text, `snowgrid_serve_ids_total{protocol="grpc"} 1026`) {
		t.Error(text)
	}
}

// TestNotReadyWithoutANode: a process that finds every node held is alive and not ready, with
// the status of the original at /ready; it becomes ready when a holder has been killed.
func TestNotReadyWithoutANode(t *testing.T) {
	args := []string{"--store", "file:" + t.TempDir(), "--window", "1s", "--max-server-cnt", "1",
		"--s3-lease-acquire-max-delay", "500ms"}
	holder := start(t, args...)
	holder.ready()
	waiting := start(t, args...)
	for path, want := range map[string]int{"/livez": http.StatusOK, "/readyz": http.StatusServiceUnavailable,
		"/ready": http.StatusBadRequest} {
		if code, text := waiting.get(path); code != want {
			t.Errorf("%s: %d %s, want %d", path, code, text, want)
		}
	}
	if _, err := waiting.dial().NextID(t.Context(), &emptypb.Empty{}); status.Code(err) != codes.Unavailable {
		t.Errorf("an ID without a node: %v", err)
	}
	if code, text := waiting.post(`{}`); code != http.StatusServiceUnavailable ||
		!strings.Contains(text, `"unavailable"`) {
		t.Errorf("an ID without a node: %d %s", code, text)
	}
	last := holder.ids(`{"n":1000}`)[999]
	holder.kill()
	waiting.ready()
	if next := waiting.ids(`{}`)[0]; len(next) < len(last) || len(next) == len(last) && next <= last {
		t.Errorf("the next holder's first ID is %s, the last one's last %s", next, last)
	}
	waiting.stop()
}

// TestStartFailsClearly: what cannot work ends the process with the reason.
func TestStartFailsClearly(t *testing.T) {
	dir := t.TempDir()
	p := start(t, "--store", "file:"+dir)
	p.ready()
	status := exitUsage
	for _, tc := range []struct {
		args string
		says string
	}{
		{"--http-addr=", "--http-addr: empty"},
		{"--http-addr= --insecure", "--http-addr: empty"},
		{"--timeout=-1s", "--timeout: -1s"},
		{"--timeout=0", "--timeout: 0s"},
		{"--leave-timeout=-5s", "--leave-timeout: -5s"},
		{"--failover-bound=-1s", "--failover-bound: -1s"},
		{"--max-connections=-1", "--max-connections: -1"},
		{"--sequencer other --nodes 5", "128 to 8192"},
		{"--sequencer other --nodes 128 --max-server-cnt 129", "129"},
		{"--max-server-cnt=-1", "max_server_cnt"},
		{"--etcd-mixed", "--layout 63/22/1024 --epoch 1970-01-01"},
		{"--etcd-mixed --sequencer orders", "shares no logical nodes"},
		{"--store ftp://host", "not the scheme of a store"},
		{"--store ids", "not a URL of a store"},
		{"--store sqlite:x.db?mode=ro", "parameter"},
		{"--window 10ms", "--window: 10ms is outside 1s to 24h0m0s; give a value inside"},
		{"--window 100h", "--window: 100h0m0s is outside"},
		{"--task " + strings.Repeat("a", 257), "--task: "},
		{"--failover-bound 5s", "--failover-bound: a directory does not name its servers"},
		{"--failover-bound 5s --store etcd://127.0.0.1:1", "does not name its servers"},
		{"--failover-bound 5s --store s3://b/x?region=a", "does not name its servers"},
		{"--failover-bound 1000h", "--failover-bound: 1000h0m0s is outside 0 to 24h0m0s"},
		{"--max-clock-back 1000h", "--max-clock-back: 1000h0m0s is outside"},
		{"--max-clock-back 0", "--max-clock-back: 0s"},
		{"--leave-timeout 0", "--leave-timeout: 0s"},
		{"--s3-api-call-timeout 8s", "s3.apiCallTimeout: 8s is outside"},
		{"--log-level loud", "give debug, info, warn or error"},
		{"--window", "--window: the value is missing\n"},
		{"--http-addr x", `--http-addr: "x" is not host:port`},
		{"--http-addr 127.0.0.1:99999", "--http-addr: "},
		{"--grpc-addr a:b", `--grpc-addr: "a:b" is not host:port`},
		{"--store file:", "the path is empty"},
		{"--store file:" + dir + "?x=y", "a directory has none"},
		{"--store etcd:", "the host is missing"},
		{"--store etcd://", "no servers"},
		{"--store etcd://a", `server "a" is not host:port`},
		{"--store etcd://a:99999/x", `server "a:99999" is not host:port`},
		{"--store etcd://127.0.0.1:1/x?foo=bar", `parameter "foo" is unknown; give tls, ca`},
		{"--store etcd://127.0.0.1:1/x?tls=maybe", "give true or false"},
		{"--store etcd://127.0.0.1:1/x?ca=/nope", "/nope"},
		{"--store etcd://127.0.0.1:1 --window 100h", "--window: 100h0m0s"},
		{"--store s3://", "s3.bucketName: empty"},
		{"--store s3://b/x?foo=1", `parameter "foo" is unknown`},
		{"--store s3://b/x?region=", "s3.region: empty"},
		{"--store s3://b/x?region=a_b", `s3.region: "a_b" is not a region`},
		{"--store s3://b/x?endpoint=nonsense", `s3.endpoint: "nonsense" is not a URL`},
		{"--store s3://b/x?region=a --s3-api-call-timeout 61s", "s3.apiCallTimeout: 1m1s is outside 1ms to 1m0s"},
		{"--store postgres://u:secret@127.0.0.1:1/db?table=a-b", `table "a-b"`},
		{"--store postgres://u:secret@127.0.0.1:1/db?no_failover=maybe", "give true or false"},
		{"--store postgres://u:secret@127.0.0.1:1/db?sslmode=x", "the driver cannot read the URL"},
		{"--store mysql://u:secret@127.0.0.1:1/db?table=a-b", `table "a-b"`},
		{"--store mysql://u:secret@127.0.0.1:1/db?timeout=x", "the driver refuses the URL"},
		{"--store sqlite:", "name a file"},
		{"--store sqlite:" + dir + "/a.db?table=a-b", `table "a-b"`},
		{"", ""},
		{"--http-addr " + p.http, "--http-addr"},
		{"--grpc-addr " + p.grpc, "--grpc-addr"},
		{"--nodes 128", "conflicting definition"},
		{"--layout jssafe", "layout 53/12/64"},
		{"--epoch 2100-01-01 --sequencer other", "in the future"},
		{"--timeout 1s --store etcd://127.0.0.1:1", "127.0.0.1:1"},
		{"--store sqlite:" + dir + "/no/such/dir/x.db", "no/such/dir"},
	} {
		if tc.args == "" { // from here on the arguments are possible
			status = exitFailed
			continue
		}
		args := append([]string{"serve", "--store", "file:" + dir, "--http-addr", "127.0.0.1:0", "--grpc-addr", "none"},
			strings.Fields(tc.args)...)
		code, out, errs := command(t, args...)
		if status == exitUsage && out != "" { // it is refused before the servers listen
			t.Errorf("%s: %q", tc.args, out)
		}
		if strings.Contains(errs, "secret") {
			t.Errorf("%s: the password is printed: %s", tc.args, errs)
		}
		if code != status || !strings.Contains(errs, "snowgrid-serve: ") || !strings.Contains(errs, tc.says) {
			t.Errorf("%s: %d %s %s; want %q", tc.args, code, out, errs, tc.says)
		}
	}
}

// TestNamesAreLimited: callers cannot have a process keep handles without bound. The one that is
// unused for longest ends.
func TestNamesAreLimited(t *testing.T) {
	s := ownService(t)
	ask := func(name string) {
		t.Helper()
		if _, err := s.ids(t.Context(), wire.IDsRequest{Name: name, Create: &wire.IDsCreate{}}); err != nil {
			t.Fatal(err)
		}
	}
	ask("first")
	first, err := s.client.Load().OpenSequencer(t.Context(), "first")
	if err != nil {
		t.Fatal(err)
	}
	for i := range handles.NamesMax - 1 {
		s.names.Enter(fmt.Sprint(i))
		s.names.Leave(fmt.Sprint(i), true, time.Hour)
	}
	if _, err := first.Next(t.Context()); err != nil {
		t.Errorf("the handle ends although there are %d names: %v", handles.NamesMax, err)
	}
	ask("one-more")
	if id, err := first.Next(t.Context()); !errors.Is(err, sequencer.ErrClosed) {
		t.Errorf("with one name more, the handle unused for longest has %v, %v", id, err)
	}
	for range requestsMax {
		if err := s.begin(); err != nil {
			t.Fatal(err)
		}
	}
	if s.begin() == nil {
		t.Error("requests are not limited")
	}
	s.end()
	if err := s.begin(); err != nil {
		t.Error(err)
	}
}
