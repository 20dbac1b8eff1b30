package grid_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/epoch"

	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// request sends a request with headers; an empty one is left out. Host stands for the
// request's host.
func (b *browser) request(method, path string, header map[string]string, body string) (res *http.Response,
	out map[string]any) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, "http://"+b.m.Addrs().API+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	for name, value := range header {
		if name == "Host" {
			req.Host = value
		} else if value != "" {
			req.Header.Set(name, value)
		}
	}
	res, err = b.client.Do(req)
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	var text strings.Builder
	if err := res.Write(&text); err != nil {
		b.t.Fatal(err)
	}
	_, answer, _ := strings.Cut(text.String(), "\r\n\r\n")
	if method == http.MethodHead || !strings.HasPrefix(res.Header.Get("Content-Type"), wire.JSON) {
		return res, nil
	}
	return res, object(b.t, []byte(answer))
}

// foul is everything about a request that can be wrong besides its path and method.
var foul = map[string]string{
	"Content-Type": "text/html", "Sec-Fetch-Site": "cross-site", "Origin": "https://elsewhere.example",
	wire.HeaderTarget: "another", wire.HeaderGrid: "another",
}

// TestAPIReleases: every call is answered with the release of the member, and one of a
// release without a protocol in common is refused.
func TestAPIReleases(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, startOne(t, nil), 2)
	for theirs, status := range map[string]int{"": 200, "1-1 v1": 200, "1-7 v7": 200, "8-9 v9": 426} {
		res, out := b.request(http.MethodPost, wire.PathDirectory,
			map[string]string{"Content-Type": wire.JSON, wire.HeaderRelease: theirs}, "{}")
		if res.StatusCode != status || res.Header.Get(wire.HeaderRelease) != wire.FormatRelease(wire.OwnRelease()) {
			t.Errorf("%q: status %d, release %q", theirs, res.StatusCode, res.Header.Get(wire.HeaderRelease))
		}
		if status != 200 && (out["code"] != "protocol" || !strings.Contains(fmt.Sprint(out["message"]),
			"snowgrid v9 (protocols 8 to 9)")) {
			t.Errorf("%q: %v", theirs, out)
		}
	}
}

// TestAPIUnknownPathComesFirst: that a path or a method is wrong is said before
// anything else about the request is looked at, with a code of its own.
func TestAPIUnknownPathComesFirst(t *testing.T) {
	t.Parallel()
	m := startOne(t, nil)
	for version := 1; version <= 2; version++ {
		b := newBrowser(t, m, version)
		for _, header := range []map[string]string{nil, {"Content-Type": wire.JSON}, foul} {
			for _, path := range []string{"/v1", "/v1/", "/v1/nothing", "/v1/ids/", "/v1//ids", "/v1/member/nothing",
				"/" + strings.Repeat("x", 500)} {
				for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete, "DANCE"} {
					res, out := b.request(method, path, header, "<html>")
					if res.StatusCode != http.StatusNotFound || out != nil && out["code"] != "unknown_path" ||
						out == nil && method != http.MethodHead {
						t.Errorf("%s %.20s: %d %v", method, path, res.StatusCode, out)
					}
					if text, _ := out["message"].(string); out != nil && (!strings.Contains(text, path[:min(20, len(path))]) ||
						len(text) > 300) {
						t.Errorf("%s %.20s: %q", method, path, text)
					}
				}
			}
			for path, allow := range map[string]string{
				wire.PathIDs: "POST", wire.PathEvents: "POST", wire.PathHello: "POST", wire.PathReplicate: "POST",
				wire.PathStatus: "GET, HEAD, POST", "/": "GET, HEAD", "/livez": "GET, HEAD", "/readyz": "GET, HEAD",
			} {
				for _, method := range []string{http.MethodPut, http.MethodOptions, "DANCE"} {
					res, out := b.request(method, path, header, "<html>")
					text, _ := out["message"].(string)
					if res.StatusCode != http.StatusMethodNotAllowed || out["code"] != "wrong_method" ||
						res.Header.Get("Allow") != allow || !strings.Contains(text, allow) {
						t.Errorf("%s %s: %d %v, Allow %q, want %q", method, path, res.StatusCode, out, res.Header.Get("Allow"), allow)
					}
				}
			}
		}
		for _, path := range []string{"/livez", "/readyz", wire.PathStatus} {
			if res, _ := b.request(http.MethodHead, path, nil, ""); res.StatusCode != http.StatusOK {
				t.Errorf("HEAD %s: %d", path, res.StatusCode)
			}
		}
	}
}

// TestAPIRefusesOtherOrigins: a web page elsewhere cannot have a browser change
// anything, whatever it says the body is.
func TestAPIRefusesOtherOrigins(t *testing.T) {
	t.Parallel()
	m := startOne(t, nil)
	if _, err := m.CreateSequencer(testContext(t), "orders", sequencer.Config{}); err != nil {
		t.Fatal(err)
	}
	self := m.Addrs().API
	tests := []struct {
		what   string
		header map[string]string
		want   int
	}{
		{"of no browser", map[string]string{}, http.StatusOK},
		{"cross-site", map[string]string{"Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		{"another port", map[string]string{"Sec-Fetch-Site": "same-site"}, http.StatusForbidden},
		{"same origin", map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://" + self}, http.StatusOK},
		{"origin alone", map[string]string{"Origin": "https://elsewhere.example"}, http.StatusForbidden},
		{"opaque origin", map[string]string{"Origin": "null"}, http.StatusForbidden},
		{"own origin alone", map[string]string{"Origin": "http://" + self}, http.StatusOK},
		{"a name that leads to loopback", map[string]string{"Host": "elsewhere.example",
			"Origin": "http://elsewhere.example"}, http.StatusForbidden},
		{"the same, fetched", map[string]string{"Host": "elsewhere.example:7948", "Sec-Fetch-Site": "same-origin"},
			http.StatusForbidden},
		{"localhost", map[string]string{"Host": "localhost:7948", "Origin": "http://localhost:7948"}, http.StatusOK},
		{"another name, of no browser", map[string]string{"Host": "ids.internal"}, http.StatusOK},
	}
	for version := 1; version <= 2; version++ {
		b := newBrowser(t, m, version)
		for _, test := range tests {
			for _, path := range []string{wire.PathOpen, wire.PathDestroy} {
				test.header["Content-Type"] = wire.JSON
				name := "orders"
				if path == wire.PathDestroy && test.want == http.StatusOK {
					continue // it would
				}
				res, out := b.request(http.MethodPost, path, test.header, `{"name":"`+name+`"}`)
				if res.StatusCode != test.want || test.want != http.StatusOK && out["code"] != "cross_origin" {
					t.Errorf("HTTP/%d, %s, %s: %d %v", version, path, test.what, res.StatusCode, out)
				}
			}
			if res, _ := b.request(http.MethodGet, "/livez", test.header, ""); res.StatusCode != http.StatusOK {
				t.Errorf("GET, %s: %d", test.what, res.StatusCode)
			}
		}
	}
}

// TestAPIWantsContentType: without one, or with one that a form or a page can send
// without asking, nothing is done, and the remedy is said.
func TestAPIWantsContentType(t *testing.T) {
	t.Parallel()
	m := startOne(t, nil)
	for version := 1; version <= 2; version++ {
		b := newBrowser(t, m, version)
		for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"} {
			for path := range valid {
				res, out := b.request(http.MethodPost, path, map[string]string{"Content-Type": kind}, `{"name":"orders"}`)
				text, _ := out["message"].(string)
				if res.StatusCode != http.StatusUnsupportedMediaType || out["code"] != "content_type" ||
					!strings.Contains(text, wire.JSON) || !strings.Contains(text, wire.MsgPack) || !strings.Contains(text, "--json") {
					t.Errorf("HTTP/%d %s as %q: %d %v", version, path, kind, res.StatusCode, out)
				}
			}
		}
	}
}

// TestAPICreateWithoutEpoch: omitted fields have the defaults of Go.
func TestAPICreateWithoutEpoch(t *testing.T) {
	t.Parallel()
	m := startOne(t, nil)
	b := newBrowser(t, m, 1)
	for name, in := range map[string]map[string]any{
		"out": {}, "null": {"epoch": nil, "nodes": nil}, "given": {"epoch": epoch.Default.UnixMilli(), "nodes": 8192},
	} {
		in["name"] = name
		made := b.mustCall(wire.PathCreate, in)["sequencer"].(map[string]any)
		if number(t, made["epoch"]) != epoch.Default.UnixMilli() || number(t, made["nodes"]) != 8192 {
			t.Errorf("%s: %v", name, made)
		}
		s, err := m.CreateSequencer(testContext(t), name, sequencer.Config{})
		if err != nil || s.Definition().Config().Epoch != epoch.Default {
			t.Errorf("%s, in Go: %v", name, err)
		}
	}
	status, out := b.call(wire.PathCreate, map[string]any{"name": "of 1970", "epoch": 0})
	if text, _ := out["message"].(string); status != http.StatusBadRequest || out["code"] != "epoch_exhausted" ||
		!strings.Contains(text, "leave the epoch out") {
		t.Errorf("an epoch of 1970: %d %v", status, out)
	}
}

// TestAPIIDsCreate: POST /v1/ids with "create" makes the sequencer if there is none.
func TestAPIIDsCreate(t *testing.T) {
	t.Parallel()
	m := startOne(t, nil)
	b := newBrowser(t, m, 1)
	twitter := epoch.Twitter.UnixMilli()
	for round := range 2 {
		if ids := idsOf(t, b.mustCall(wire.PathIDs, map[string]any{"name": "orders", "n": 3,
			"create": map[string]any{}})); len(ids) != 3 {
			t.Errorf("round %d: %v", round, ids)
		}
	}
	if made := b.mustCall(wire.PathOpen, map[string]any{"name": "orders"})["sequencer"].(map[string]any); number(t,
		made["epoch"]) != epoch.Default.UnixMilli() || number(t, made["nodes"]) != 8192 {
		t.Errorf("created as %v", made)
	}
	b.mustCall(wire.PathIDs, map[string]any{"name": "old", "create": map[string]any{"epoch": twitter, "nodes": 200}})
	made := b.mustCall(wire.PathOpen, map[string]any{"name": "old"})["sequencer"].(map[string]any)
	if number(t, made["epoch"]) != twitter || number(t, made["nodes"]) != 256 {
		t.Errorf("created as %v", made)
	}
	small := map[string]any{"bits": 53, "low_bits": 12, "nodes": 64}
	if ids := idsOf(t, b.mustCall(wire.PathIDs, map[string]any{"name": "small", "n": 64,
		"create": map[string]any{"layout": small, "nodes": 17}})); ids[63] >= 1<<53 {
		t.Errorf("IDs of 53 bits: %v", ids)
	}
	made = b.mustCall(wire.PathOpen, map[string]any{"name": "small"})["sequencer"].(map[string]any)
	if layout, _ := made["layout"].(map[string]any); number(t, made["nodes"]) != 32 || number(t, layout["bits"]) != 53 ||
		number(t, layout["low_bits"]) != 12 || number(t, layout["nodes"]) != 64 {
		t.Errorf("created as %v", made)
	}
	// Another member of no handle yet, and this one with its handle, refuse another definition.
	if _, err := m.CreateSequencer(testContext(t), "invoices", sequencer.Config{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"orders", "invoices"} {
		status, out := b.call(wire.PathIDs, map[string]any{"name": name, "create": map[string]any{"nodes": 128}})
		if text, _ := out["message"].(string); status != http.StatusConflict || out["code"] != "conflict" ||
			!strings.Contains(text, "8192") || !strings.Contains(text, "128") {
			t.Errorf("another definition of %s: %d %v", name, status, out)
		}
	}
	for _, create := range []string{`{"layout":{}}`, `{"layout":null}`} {
		res, out := b.request(http.MethodPost, wire.PathIDs, map[string]string{"Content-Type": wire.JSON},
			`{"name":"orders","create":`+create+`}`)
		if res.StatusCode != http.StatusOK {
			t.Errorf("create %s, the zero layout: %d %v", create, res.StatusCode, out)
		}
	}
	for _, name := range []string{"orders", "invoices", "small"} {
		status, out := b.call(wire.PathIDs, map[string]any{"name": name,
			"create": map[string]any{"layout": map[string]any{"bits": 63, "low_bits": 22, "nodes": 1024}}})
		if text, _ := out["message"].(string); status != http.StatusConflict || out["code"] != "conflict" ||
			!strings.Contains(text, "63/22/1024") {
			t.Errorf("another layout of %s: %d %v", name, status, out)
		}
	}
	for _, create := range []string{`{"layout":{"bits":53}}`, `{"layout":"twiter"}`,
		`{"layout":{"bits":53,"low_bits":12,"nodes":64,"x":1}}`,
		`{"layout":{"bits":53,"low_bits":12,"nodes":64},"nodes":65}`, `{"epoch":"2026"}`, `{"nods":128}`, `[]`,
		`{"nodes":127}`, `{"nodes":8193}`, `{"epoch":0}`,
		fmt.Sprintf(`{"epoch":%d}`, time.Now().Add(time.Hour).UnixMilli())} {
		res, out := b.request(http.MethodPost, wire.PathIDs, map[string]string{"Content-Type": wire.JSON},
			`{"name":"never","create":`+create+`}`)
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("create %s: %d %v", create, res.StatusCode, out)
		}
	}
	if status, out := b.call(wire.PathIDs, map[string]any{"name": "never"}); status != http.StatusNotFound {
		t.Errorf("created by a request that was refused: %d %v", status, out)
	}
	// A name that was destroyed begins again, above what it had.
	last := idsOf(t, b.mustCall(wire.PathIDs, map[string]any{"name": "orders"}))[0]
	b.mustCall(wire.PathDestroy, map[string]any{"name": "orders"})
	if next := idsOf(t, b.mustCall(wire.PathIDs, map[string]any{"name": "orders",
		"create": map[string]any{"nodes": 128}})); next[0] <= last {
		t.Errorf("the next life begins with %d, the last one ended with %d", next[0], last)
	}
}
