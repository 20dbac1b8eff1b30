package grid_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/membership"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
)

// privatePaths are the paths of Go clients, which change with a release, of the commands of snowgrid, and for
// debugging. All below /v1/member/ are private, too.
var privatePaths = []string{
	wire.PathCreate, wire.PathOpen, wire.PathAttach, wire.PathRenew, wire.PathDetach, wire.PathEvents,
	wire.PathDirectory, frame.Path, wire.PathKeyring, wire.PathUnused, membership.PathState, membership.PathPause,
	membership.PathShutdown,
}

// TestDocumentHasEveryPublicPath: the OpenAPI document that a member serves has each path of its index with the
// same methods, but for the private paths; and no others.
func TestDocumentHasEveryPublicPath(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, startOne(t, func(cfg *grid.Config) { cfg.Debug = true }), 1)
	var index wire.IndexResponse
	_, _, body := b.read("/", wire.JSON)
	if err := json.Unmarshal([]byte(body), &index); err != nil {
		t.Fatal(err)
	}
	var document struct {
		OpenAPI string
		Info    struct{ Version string }
		Paths   map[string]map[string]json.RawMessage
	}
	status, kind, body := b.read(wire.PathDocument, "")
	if err := json.Unmarshal([]byte(body), &document); err != nil || status != http.StatusOK || kind != wire.JSON ||
		document.OpenAPI != "3.1.0" || document.Info.Version == "" {
		t.Fatalf("%d %s %.200s: %v", status, kind, body, err)
	}
	private := 0
	for _, p := range index.Paths {
		var methods []string
		for method := range document.Paths[p.Path] {
			methods = append(methods, strings.ToUpper(method))
		}
		slices.Sort(methods)
		isPrivate := strings.HasPrefix(p.Path, "/v1/member/") || slices.Contains(privatePaths, p.Path)
		switch want := p.Methods; {
		case isPrivate && len(methods) > 0:
			t.Errorf("%s is private, and is in the document", p.Path)
		case isPrivate:
			private++
		case !slices.Equal(methods, want):
			t.Errorf("%s: the index has %v and the document %v; add an operation in "+
				"internal/openapi/operations.go, or a private path here", p.Path, want, methods)
		}
	}
	if len(index.Paths) != len(document.Paths)+private {
		t.Errorf("%d paths are served, %d of them private, and the document has %d", len(index.Paths), private,
			len(document.Paths))
	}
}

// TestDocumentIsCached: a caller that has the document gets no second copy of it.
func TestDocumentIsCached(t *testing.T) {
	t.Parallel()
	m := startOne(t, nil)
	b := newBrowser(t, m, 1)
	get := func(tag string) *http.Response {
		t.Helper()
		header := map[string]string{}
		if tag != "" {
			header["If-None-Match"] = tag
		}
		res, _ := b.request(http.MethodGet, wire.PathDocument, header, "")
		return res
	}
	first := get("")
	tag := first.Header.Get("ETag")
	if first.StatusCode != http.StatusOK || len(tag) < 10 || first.Header.Get("Cache-Control") != "no-cache" {
		t.Fatalf("%d %v", first.StatusCode, first.Header)
	}
	if again := get(tag); again.StatusCode != http.StatusNotModified || again.ContentLength > 0 {
		t.Errorf("with its tag: %d, %d bytes", again.StatusCode, again.ContentLength)
	}
	if other := get(`"another"`); other.StatusCode != http.StatusOK || other.Header.Get("ETag") != tag {
		t.Errorf("with another tag: %d %v", other.StatusCode, other.Header)
	}
}
