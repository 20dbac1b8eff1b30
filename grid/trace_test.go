package grid_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestTrace: the member's own handles have spans, and a request for IDs has one with the context of the
// request's trace, in which the member's work for it is done.
func TestTrace(t *testing.T) {
	t.Parallel()
	var problems []string
	for range 5 { // a span has no parent if the function that begins it takes 100 ms, as on a busy machine it may
		if problems = traceProblems(t); len(problems) == 0 {
			return
		}
	}
	t.Error(strings.Join(problems, "\n"))
}

// traceProblems returns the differences between the spans of some calls and the expected ones.
func traceProblems(t *testing.T) (problems []string) {
	compare := func(what string, got, want []string) {
		if !slices.Equal(got, want) {
			problems = append(problems, fmt.Sprintf("%s: %q, want %q", what, got, want))
		}
	}
	var mu sync.Mutex
	var spans []string
	take := func() (out []string) {
		mu.Lock()
		defer mu.Unlock()
		out, spans = spans, nil
		return slices.DeleteFunc(out, func(s string) bool { // on a busy machine a grant fails over
			return strings.HasPrefix(s, "renew ") || strings.HasPrefix(s, "failover ")
		})
	}
	type parent struct{}
	m := startOne(t, func(c *grid.Config) {
		c.Trace = func(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, func(error)) {
			of := ctx.Value(parent{})
			return context.WithValue(ctx, parent{}, name), func(err error) {
				mu.Lock()
				defer mu.Unlock()
				spans = append(spans, fmt.Sprintf("%s %v in %v, failed: %v", name, attrs, of, err != nil))
			}
		}
	})
	if _, err := m.CreateSequencer(testContext(t), "orders", sequencer.Config{}); err != nil {
		t.Fatal(err)
	}
	want := []string{"attach [sequencer=orders] in create, failed: false",
		"create [sequencer=orders] in <nil>, failed: false"}
	compare("of a create", take(), want)
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	b := newBrowser(t, m, 1)
	headers := map[string]string{"Content-Type": wire.JSON, "traceparent": trace, "tracestate": "a=1,b=2"}
	b.request("POST", wire.PathIDs, headers, `{"name":"orders"}`)
	want = []string{"attach [sequencer=orders] in ids, failed: false",
		"ids [traceparent=" + trace + " tracestate=a=1,b=2 sequencer=orders] in <nil>, failed: false"}
	compare("of a request for IDs", take(), want)
	b.request("POST", wire.PathIDs, map[string]string{"Content-Type": wire.JSON, "tracestate": "a=1"}, `{"name":"none"}`)
	want = []string{"ids [sequencer=none] in <nil>, failed: true"}
	compare("of a request without a trace for a name that does not exist", take(), want)
	return problems
}
