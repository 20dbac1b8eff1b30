package grid_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestIndexHasALineForEachPath: GET / lists every path that is served, with its methods
// and its purpose, as text and as JSON.
func TestIndexHasALineForEachPath(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, startOne(t, nil), 1)
	_, kind, body := b.read("/", wire.JSON)
	var index wire.IndexResponse
	if err := json.Unmarshal([]byte(body), &index); err != nil || kind != wire.JSON || len(index.Paths) < 20 {
		t.Fatalf("%s, %d paths: %v", kind, len(index.Paths), err)
	}
	_, kind, text := b.read("/", "*/*")
	if !strings.HasPrefix(kind, "text/plain") {
		t.Errorf("without a wish the answer is %s", kind)
	}
	lines := strings.Split(text, "\n")
	for _, p := range index.Paths {
		if p.About == "" || len(p.Methods) == 0 {
			t.Errorf("%s has no line about it (grid/internal/api/access.go), or no method: %v", p.Path, p.Methods)
		}
		listed := slices.ContainsFunc(lines, func(line string) bool {
			words := strings.Fields(line)
			return len(words) > 2 && words[0] == strings.Join(p.Methods, ",") && words[1] == p.Path &&
				strings.HasSuffix(line, p.About) && len(line) <= 110
		})
		if !listed {
			t.Errorf("%s is not in the text, or its line is too long:\n%s", p.Path, text)
		}
	}
	for path, methods := range map[string]string{"/": "GET", wire.PathStatus: "GET,POST", wire.PathIDs: "POST",
		wire.PathEvents: "POST"} {
		if !slices.ContainsFunc(index.Paths, func(p wire.PathInfo) bool {
			return p.Path == path &&
				strings.Join(p.Methods, ",") == methods
		}) {
			t.Errorf("%s with %s is not listed: %+v", path, methods, index.Paths)
		}
	}
}

// TestEveryPathHasAnAction: whatever a member serves, for debugging too, is an action that
// some roles are allowed and others are not.
func TestEveryPathHasAnAction(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, startOne(t, func(cfg *grid.Config) { cfg.Debug = true }), 1)
	_, _, body := b.read("/", wire.JSON)
	var index wire.IndexResponse
	if err := json.Unmarshal([]byte(body), &index); err != nil {
		t.Fatal(err)
	}
	served := map[string]bool{}
	for _, p := range index.Paths {
		for _, method := range p.Methods {
			served[method+" "+p.Path] = true
			if action, found := api.ActionOf(method, p.Path); !found || !slices.Contains(security.Actions(), action) {
				t.Errorf("%s %s has no action: give it a row in grid/internal/api/access.go", method, p.Path)
			}
		}
	}
	for _, row := range api.Rows() {
		if !served[row] {
			t.Errorf("%s is in grid/internal/api/access.go, and no member serves it", row)
		}
	}
}

// TestReadyzVerboseListsEveryCondition: the conditions of a member that is ready.
func TestReadyzVerboseListsEveryCondition(t *testing.T) {
	t.Parallel()
	m := startOne(t, nil)
	b := newBrowser(t, m, 1)
	status, _, body := b.read("/readyz?verbose", wire.JSON)
	var ready wire.ReadyResponse
	if err := json.Unmarshal([]byte(body), &ready); err != nil || !ready.Ready || status != http.StatusOK {
		t.Fatalf("%d, %+v, %v", status, ready, err)
	}
	if _, _, text := b.read("/readyz?verbose=false", ""); text != "ready\n" {
		t.Errorf("with verbose=false: %q", text)
	}
	_, _, text := b.read("/readyz?verbose", "")
	for _, c := range m.Conditions() {
		if !c.Met || c.Reason != "" || !strings.Contains(text, "[+]"+c.Name+" ok\n") {
			t.Errorf("%+v is not met, or not in\n%s", c, text)
		}
	}
	if len(m.Conditions()) != len(ready.Conditions) || !strings.HasSuffix(text, "readyz check passed\n") {
		t.Errorf("%d conditions, %d as JSON; text\n%s", len(m.Conditions()), len(ready.Conditions), text)
	}
}

// read gets a page in the form that accept wishes.
func (b *browser) read(path, accept string) (status int, kind, body string) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, "http://"+b.m.Addrs().API+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	res, err := b.client.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return res.StatusCode, res.Header.Get("Content-Type"), string(data)
}

// TestListingsForCurl: the pages are served for GET, and a wrong query is refused with the
// keys that there are.
func TestListingsForCurl(t *testing.T) {
	t.Parallel()
	m := startOne(t, nil)
	if _, err := m.CreateSequencer(testContext(t), "orders", sequencer.Config{}); err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, m, 2)
	for query, want := range map[string]struct {
		status int
		part   string
	}{
		"/v1/sequencers":                        {http.StatusOK, `"name":"orders"`},
		"/v1/sequencers?prefix=x":               {http.StatusOK, `"sequencers":[]`},
		"/v1/sequencers?busiest":                {http.StatusOK, `"sequencers":[`},
		"/v1/sequencers?busiest=false&prefix=x": {http.StatusOK, `"sequencers":[]`},
		"/v1/sequencers?busiest=true&prefix=x":  {http.StatusBadRequest, "busiest with prefix"},
		"/v1/sequencers?destroyed":              {http.StatusOK, `"sequencers":[]`},
		"/v1/sequencers?destroyed&busiest":      {http.StatusBadRequest, "busiest with destroyed"},
		"/v1/sequencers?busiest=many":           {http.StatusBadRequest, `busiest=\"many\": give true or false`},
		"/v1/sequencers?limit=many":             {http.StatusBadRequest, `limit=\"many\": give a number`},
		"/v1/sequencers?limit=-1":               {http.StatusBadRequest, `limit=\"-1\": give a number, 0 or more`},
		"/v1/sequencers?limit=1001":             {http.StatusBadRequest, "give 1 to 1000 rows"},
		"/v1/sequencers?name=orders":            {http.StatusBadRequest, "give prefix, after, limit, busiest, destroyed"},
		"/v1/holders?name=orders":               {http.StatusOK, `"attached":1`},
		"/v1/holders?name=orders&after=8191":    {http.StatusOK, `"holders":[],"more":false`},
		"/v1/holders":                           {http.StatusBadRequest, "name is empty"},
		"/v1/holders?name=absent":               {http.StatusNotFound, "not found"},
		"/v1/holders?name=x&after=few":          {http.StatusBadRequest, `after=\"few\"`},
	} {
		if status, kind, body := b.read(query, ""); status != want.status || !strings.Contains(body, want.part) ||
			kind != wire.JSON {
			t.Errorf("%s: %d %s, want %d with %s", query, status, body, want.status, want.part)
		}
	}
}
