//go:build unix

package main

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/authority"
)

// TestDocumentedGrants: the requests in docs/grants.md work with curl, one after the other, against an agent with
// security, and the replies have the documented fields.
func TestDocumentedGrants(t *testing.T) {
	if out, err := exec.Command("curl", "--help", "all").Output(); err != nil || !strings.Contains(string(out), "--json") {
		t.Skip("curl 7.82 or later is not installed")
	}
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "security")
	if err := authority.Create(dir, authority.Options{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	agent := startAgent(t, "127.0.0.1:0", "--expect", "1", "--security-dir", dir)
	token := succeed(t, "secure", "token", "--dir", dir, "--role", "holder", "--for", "curl", "--ttl", "1h")
	grant := "" // of the newest reply
	for i, line := range requestsOf(t) {
		request, documented := line[0], line[1]
		if grant != "" {
			request = strings.ReplaceAll(request, "g1.mZ...", grant)
		}
		shell := exec.Command("sh", "-c", request)
		shell.Dir = dir
		shell.Env = append(os.Environ(), "token="+strings.TrimSpace(token), "ids=https://"+agent.api)
		out, err := shell.Output()
		var reply, want map[string]any
		if err != nil || json.Unmarshal(out, &reply) != nil {
			t.Fatalf("%s: %v: %s", request, err, out)
		}
		if documented != "" {
			if err := json.Unmarshal([]byte(documented), &want); err != nil {
				t.Fatalf("%s: %v", documented, err)
			}
			have, expected := slices.Sorted(maps.Keys(reply)), slices.Sorted(maps.Keys(want))
			if !slices.Equal(have, expected) {
				t.Errorf("%s: the reply has %v, documented are %v", request, have, expected)
			}
		}
		if text, has := reply["grant"].(string); has {
			grant = text
		} else if i < 2 {
			t.Errorf("%s: the reply is %s", request, out)
		}
	}
}

// requestsOf returns the commands in docs/grants.md with their documented replies, "" for those without one. The
// address in the page is left out.
func requestsOf(t *testing.T) (out [][2]string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/grants.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Requests\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		line, indented := strings.CutPrefix(line, "    ")
		last := len(out) - 1
		switch {
		case !indented || strings.HasPrefix(line, "ids="):
		case strings.HasPrefix(line, "curl "):
			out = append(out, [2]string{line})
		case last >= 0 && strings.HasSuffix(out[last][0], "\\\n"):
			out[last][0] += line
		case last >= 0:
			out[last][1] += line
		}
	}
	if len(out) != 3 || out[0][1] == "" || out[2][1] == "" {
		t.Fatalf("the page has the requests %q", out)
	}
	return out
}
