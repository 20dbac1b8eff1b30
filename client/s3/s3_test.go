package s3

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/sequencer"
)

func TestObjectsAreThoseOfTheOriginal(t *testing.T) {
	server, cli := startServer(t)
	s := New(cli, "bucket", "ids/")
	meta := map[string]string{"taskid": "web-7", "version": "3", "acquirable": "true"}
	body := newBody()
	revision := mustSwap(t, s, store.Entry{Key: "orders/0.json", Body: body, Meta: meta})

	have, ok := server.objects["ids/orders/0.json"]
	if !ok {
		t.Fatalf("no object at <prefix><sequencer>/<n>.json: %v", server.requests)
	}
	if got := have.head.Get("Content-Type"); got != "application/json" {
		t.Errorf("the content type is %q", got)
	}
	if string(have.body) != string(body) {
		t.Errorf("the body is %q, not %q", have.body, body)
	}
	for k, v := range meta {
		if got := have.head.Get("X-Amz-Meta-" + k); got != v {
			t.Errorf("metadata %s is %q, not %q", k, got, v)
		}
	}
	e, err := s.Load(t.Context(), "orders/0.json")
	if err != nil {
		t.Fatal(err)
	}
	if e.Key != "orders/0.json" || string(e.Body) != string(body) || e.Revision != revision {
		t.Errorf("read %+v, wrote %q at %s", e, body, revision)
	}
	if fmt.Sprint(e.Meta) != fmt.Sprint(meta) {
		t.Errorf("read the metadata %v, wrote %v", e.Meta, meta)
	}
}

// Z8: an original writes an empty body when it returns a record, and keeps the version in
// the metadata.
func TestEmptyBodyOfTheOriginalIsRead(t *testing.T) {
	server, cli := startServer(t)
	s := New(cli, "bucket", "ids/")
	server.write("ids/orders/0.json", nil, map[string]string{"version": "7", "acquirable": "true"})
	e, err := s.Load(t.Context(), "orders/0.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Body) != 0 || e.Meta["version"] != "7" || e.Revision == "" {
		t.Errorf("read %+v", e)
	}
	mustSwap(t, s, store.Entry{Key: e.Key, Body: newBody(), Revision: e.Revision})
}

func TestEmptyAndLongBodiesAreNotWritten(t *testing.T) {
	server, cli := startServer(t)
	s := New(cli, "bucket", "")
	for _, size := range []int{0, bodyMax + 1} {
		_, err := s.Swap(t.Context(), store.Entry{Key: "k", Body: make([]byte, size)})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprint(size)) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	if n := server.count(http.MethodPut); n != 0 {
		t.Errorf("%d requests", n)
	}
	server.write("k", make([]byte, bodyMax+1), nil)
	if _, err := s.Load(t.Context(), "k"); err == nil || !strings.Contains(err.Error(), "longer than 65536 bytes") {
		t.Errorf("a long object: %v", err)
	}
}

func TestEmptyKeyIsRefused(t *testing.T) {
	server, cli := startServer(t)
	s := New(cli, "bucket", "ids")
	_, load := s.Load(t.Context(), "")
	_, swap := s.Swap(t.Context(), store.Entry{Body: newBody()})
	if load == nil || swap == nil || len(server.objects) != 0 {
		t.Errorf("%v; %v; objects %v", load, swap, server.objects)
	}
}

func TestListReadsEveryPage(t *testing.T) {
	server, cli := startServer(t)
	for i := range 2500 {
		server.write(fmt.Sprintf("ids/orders/%d.json", i), newBody(), nil)
	}
	server.write("ids/other/0.json", newBody(), nil)
	server.write("elsewhere", newBody(), nil)
	found, err := New(cli, "bucket", "ids/").List(t.Context(), "orders/")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 2500 {
		t.Fatalf("%d entries", len(found))
	}
	if n := server.count(http.MethodGet); n != 3 {
		t.Errorf("%d requests for three pages", n)
	}
	if !slices.IsSortedFunc(found, func(a, b store.Entry) int { return strings.Compare(a.Key, b.Key) }) {
		t.Error("not sorted")
	}
	for _, e := range found {
		if !strings.HasPrefix(e.Key, "orders/") || e.Revision == "" || e.Body != nil {
			t.Fatalf("found %+v", e)
		}
	}
}

// Z3: a setting that cannot work is told from a server that is away.
func TestWrongSettingsAreNamed(t *testing.T) {
	right, cli := startServer(t)
	answer := func(status int, code string) *s3.Client {
		other := &server{bucket: "bucket", now: time.Now, objects: map[string]object{}}
		other.before = func(*http.Request) (int, string) { return status, code }
		return other.client(nothing)
	}
	for _, c := range []struct {
		name   string
		store  store.Store
		has    []string
		number int // requests that one call may send
	}{
		{"no client", New(nil, "bucket", ""), []string{"no client"}, 0},
		{"no bucket", New(cli, "", ""), []string{"no bucket"}, 0},
		{"long prefix", New(cli, "bucket", strings.Repeat("p", 1100)), []string{"1101 bytes", "1024"}, 0},
		{"not UTF-8", New(cli, "bucket", "\xff"), []string{"UTF-8"}, 0},
		{"another bucket", New(cli, "missing", "ids/"), []string{`"missing"`, `"eu-test-1"`, "create it"}, 1},
		{"permission", New(answer(403, "AccessDenied"), "bucket", ""), []string{"not permitted", "s3:PutObject"}, 1},
		{"region", New(answer(301, "PermanentRedirect"), "bucket", ""), []string{"region"}, 1},
		{"no conditions", New(answer(501, "NotImplemented"), "bucket", ""), []string{"conditional"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			right.count(http.MethodGet)
			_, load := c.store.Load(t.Context(), "k")
			if n := right.count(http.MethodGet); n > c.number {
				t.Errorf("%d requests", n)
			}
			_, list := c.store.List(t.Context(), "k")
			_, swap := c.store.Swap(t.Context(), store.Entry{Key: "k", Body: newBody()})
			for _, err := range []error{load, list, swap} {
				if !errors.Is(err, sequencer.ErrInvalidConfig) || errors.Is(err, store.ErrNoRecord) ||
					errors.Is(err, store.ErrChanged) {
					t.Errorf("the kind of %v", err)
				}
				for _, has := range c.has {
					if err != nil && !strings.Contains(err.Error(), has) {
						t.Errorf("%q is not in %q", has, err)
					}
				}
			}
		})
	}
}

func TestMissingObject(t *testing.T) {
	_, cli := startServer(t)
	_, err := New(cli, "bucket", "ids/").Load(t.Context(), "orders/0.json")
	if !errors.Is(err, store.ErrNoRecord) || errors.Is(err, sequencer.ErrInvalidConfig) {
		t.Fatal(err)
	}
}

func TestDefaultWindow(t *testing.T) {
	_, cli := startServer(t)
	w, ok := New(cli, "bucket", "").(interface{ DefaultWindow() time.Duration })
	if !ok || w.DefaultWindow() != 2*time.Minute {
		t.Error("no window of 120 s")
	}
}
