package snowgrid_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// clientLinks are the packages of this module, and the other modules, that a program
// with a thin client links.
var clientLinks = []string{
	"client", "internal/clustertime", "epoch", "internal/attachment", "internal/attachment/bridge", "internal/buildinfo",
	"internal/calls", "internal/cycles", "internal/fork", "internal/durable", "internal/failure", "internal/frames",
	"internal/handles", "internal/logqueue", "internal/measure", "internal/spelling",
	"internal/identity", "internal/identity/numbers", "internal/session", "internal/tracing", "internal/signal",
	"internal/tcp",
	"internal/roster", "security", "sequencer", "internal/wire", "internal/wire/frame",
	"github.com/vmihailenco/msgpack/v5", "github.com/vmihailenco/tagparser/v2",
}

// TestClientLinksLittle: a thin client links no package of the member, no hash ring, no
// Raft and no gossip.
func TestClientLinksLittle(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "-f",
		"{{if not .Standard}}{{.ImportPath}} {{with .Module}}{{.Path}}{{end}}{{end}}", "./client")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var links []string
	for line := range strings.Lines(string(out)) {
		name, from, _ := strings.Cut(strings.TrimSpace(line), " ")
		if from == module {
			from = strings.TrimPrefix(name, module+"/")
		}
		links = append(links, from)
	}
	slices.Sort(links)
	for _, link := range slices.Compact(links) {
		if link != "" && !slices.Contains(clientLinks, link) {
			t.Errorf("a thin client links %s", link)
		}
	}
	if !slices.Contains(links, "internal/wire") {
		t.Errorf("the list lacks package wire: %q", links)
	}
}
