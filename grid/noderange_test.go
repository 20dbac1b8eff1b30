package grid_test

import (
	"testing"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestNodeRangeOverHTTP: IDs and grants of a name that was created over HTTP with a range have its nodes, and a
// request for other nodes is a conflict.
func TestNodeRangeOverHTTP(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, startOne(t, nil), 1)
	create := map[string]any{"layout": "twitter", "node_range": map[string]any{"lo": 32, "hi": 35}}
	for _, id := range idsOf(t, b.mustCall(wire.PathIDs, map[string]any{"name": "tweets", "n": 10, "create": create})) {
		if node := id >> 12 & 1023; node < 32 || node > 35 {
			t.Errorf("ID %d has node %d", id, node)
		}
	}
	grant := b.mustCall(wire.PathGrants, map[string]any{"name": "posts", "create": create})
	if node := number(t, grant["node"]); node < 32 || node > 35 {
		t.Errorf("a grant of node %d", node)
	}
	none := map[string]any{"lo": 0, "hi": 0}
	for path, body := range map[string]map[string]any{
		wire.PathCreate: {"name": "none", "node_range": none},
		wire.PathIDs:    {"name": "none", "create": map[string]any{"node_range": none}},
		wire.PathGrants: {"name": "none", "create": map[string]any{"node_range": map[string]any{}}},
	} {
		if status, out := b.call(path, body); status != 400 || out["code"] != "bad_request" {
			t.Errorf("%s with node 0 alone: %d %v", path, status, out)
		}
	}
	for _, name := range []string{"tweets", "posts"} {
		made := b.mustCall(wire.PathOpen, map[string]any{"name": name})["sequencer"].(map[string]any)
		if nodes, _ := made["node_range"].(map[string]any); number(t, nodes["lo"]) != 32 || number(t, nodes["hi"]) != 35 {
			t.Errorf("created as %v", made)
		}
		status, out := b.call(wire.PathIDs, map[string]any{"name": name, "create": map[string]any{"layout": "twitter"}})
		if status != 409 || out["code"] != "conflict" {
			t.Errorf("all nodes of %s: %d %v", name, status, out)
		}
	}
}
