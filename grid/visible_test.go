package grid_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestNewTextsThatPrintLikeOthers are refused where they enter: the zone of a member, the name of a
// grid that is formed, and the names and addresses of numbers.
func TestNewTextsThatPrintLikeOthers(t *testing.T) {
	t.Parallel()
	for field, set := range map[string]func(*grid.Config, string){
		"Zone":       func(c *grid.Config, text string) { c.Zone = text },
		"Name":       func(c *grid.Config, text string) { c.Name = text },
		"MemberName": func(c *grid.Config, text string) { c.MemberName = text },
		"Join":       func(c *grid.Config, text string) { c.Join = []string{text} },
	} {
		cfg := alone(t)
		set(&cfg, "eu\u202e1")
		mustNotStart(t, cfg, field, "202")
	}
	for _, join := range [][]string{nil, {"127.0.0.1:1"}} {
		cfg := alone(t)
		cfg.Name, cfg.Join = "b a d", join
		mustNotStart(t, cfg, "Name", "a space at position 2")
	}
	b := newBrowser(t, startOne(t, nil), 2)
	for _, in := range []map[string]any{
		{"name": "web\u200b"}, {"cluster": "\u2066c"}, {"name": "web\u00a0x"}, {"name": " web"},
		{"addr": "10.0.0.1\u2028:80"},
	} {
		in["id"], in["code"] = 1, codeText(1)
		out := b.ofSet(wire.PathIdentityApply, http.StatusBadRequest, "", in)
		if text, _ := out["message"].(string); !strings.Contains(text, "leave it out") {
			t.Errorf("%v: %q", in, text)
		}
	}
	b.ofSet(wire.PathIdentityApply, http.StatusOK, `{"id":1,"next":2}`, map[string]any{"id": 1, "code": codeText(1)})
	out := b.ofSet(wire.PathIdentityRegister, http.StatusBadRequest, "",
		map[string]any{"id": 1, "code": codeText(1), "addr": "a\u200b:1"})
	if text, _ := out["message"].(string); !strings.Contains(text, "U+200B") {
		t.Errorf("an address of a registration: %q", text)
	}
}
