//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/loopback"
	"github.com/snowgrid/snowgrid/internal/openapi"
)

// pageLanguages are the languages in docs/api.md, with the program that runs a script of each.
var pageLanguages = []struct {
	fence, program, file string
	probe                []string // prints all of the texts in needs, if the tools are recent enough
	needs                []string
}{
	{"sh", "sh", "calls.sh", []string{"curl", "--help", "all"}, []string{"--fail-with-body", "--json"}},
	{"python", "python3", "calls.py", []string{"python3", "--version"}, nil},
	{"js", "node", "calls.mjs", []string{"node", "-p", "typeof fetch"}, []string{"function"}},
}

// TestDocumentedCalls: the calls in docs/api.md work in each language, one after the other, against agents with
// security, and each language has every path of the OpenAPI document.
func TestDocumentedCalls(t *testing.T) {
	long.Only(t, "it runs curl, Python and Node.js against agents, and takes ten seconds")
	t.Parallel()
	page, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "security")
	if err := authority.Create(dir, authority.Options{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	token := succeed(t, "secure", "token", "--dir", dir, "--role", "admin", "--for", "page", "--ttl", "1h")
	gossip, err := loopback.FreeAddrs(len(pageLanguages) + 1)
	if err != nil {
		t.Fatal(err)
	}
	agents := startAgentsAt(t, gossip, "--security-dir", dir)
	host, port, _ := strings.Cut(gossip[len(pageLanguages)], ":")
	for i, language := range pageLanguages {
		t.Run(language.fence, func(t *testing.T) {
			script := scriptOf(t, string(page), language.fence)
			probe := exec.Command(language.probe[0], language.probe[1:]...)
			out, err := probe.Output()
			lacks := func(text string) bool { return !strings.Contains(string(out), text) }
			if err != nil || slices.ContainsFunc(language.needs, lacks) {
				t.Skipf("%s is not installed, or too old", language.probe[0])
			}
			script = strings.NewReplacer("10.0.0.3", host, "7946", port).Replace(script)
			if err := os.WriteFile(filepath.Join(dir, language.file), []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
			run := exec.Command(language.program, language.file)
			run.Dir = dir
			run.Env = append(os.Environ(), "token="+strings.TrimSpace(token), "ids=https://"+agents[i].api,
				"NODE_EXTRA_CA_CERTS=ca.crt", "NODE_NO_WARNINGS=1")
			if out, err := run.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, tail(string(out)))
			}
			if i == len(pageLanguages)-1 {
				return // no other script has to wait until the member has left
			}
			if status := agents[i].exit(); status != exitDone {
				t.Errorf("after the page's last call the agent ends with status %d", status)
			}
		})
	}
}

// scriptOf returns the snippets in one language, and checks that they call every path.
func scriptOf(t *testing.T, page, fence string) string {
	t.Helper()
	var script strings.Builder
	if fence == "sh" {
		script.WriteString("set -e\n")
	}
	for _, match := range regexp.MustCompile("(?ms)^```"+fence+"\n(.*?)^```").FindAllStringSubmatch(page, -1) {
		script.WriteString(match[1])
	}
	var document struct{ Paths map[string]map[string]any }
	data, err := openapi.Build(openapi.Config{})
	if err = errors.Join(err, json.Unmarshal(data, &document)); err != nil || len(document.Paths) == 0 {
		t.Fatalf("%d paths, %v", len(document.Paths), err)
	}
	for path, methods := range document.Paths {
		called := regexp.MustCompile(regexp.QuoteMeta(path) + `["'?\s]`)
		if !called.MatchString(script.String()) {
			t.Errorf("docs/api.md has no call of %s for %s", path, fence)
		}
		at := regexp.QuoteMeta(path)
		deleted := regexp.MustCompile("DELETE .*" + at + "|" + at + "\".*\"DELETE\"")
		if methods["delete"] != nil && !deleted.MatchString(script.String()) {
			t.Errorf("docs/api.md has no DELETE of %s for %s", path, fence)
		}
	}
	return script.String()
}
