//go:build linux

package languages

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/long"
)

// TestCost measures an ID in each language: of a generator, of a plain Snowflake generator in the same language,
// and of POST /v1/ids, in one run.
func TestCost(t *testing.T) {
	long.Only(t, "it measures for a minute, and takes the tools of four languages")
	g := startAgents(t, false)
	programs := programsOf(t, g, "cost", 0)
	if len(programs) == 0 {
		t.Fatal("the tools of no language are installed")
	}
	var table strings.Builder
	for _, p := range programs {
		c := exec.Command(p.command[0], append(p.command[1:len(p.command):len(p.command)], "http://"+g.addrs()[0])...)
		c.Dir = p.dir
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", p.name, err, out)
			continue
		}
		cost := map[string]float64{}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		for _, line := range lines {
			at := strings.LastIndexByte(line, ' ')
			if cost[line[:max(at, 0)]], err = strconv.ParseFloat(line[at+1:], 64); err != nil {
				t.Fatalf("%s: %q", p.name, line)
			}
		}
		for _, line := range lines {
			way := line[:strings.LastIndexByte(line, ' ')]
			_, _ = fmt.Fprintf(&table, "%-12s %-32s %9.0f ns %9.2f times plain\n", p.name, way, cost[way],
				cost[way]/cost["plain Snowflake"])
		}
	}
	t.Logf("an ID in each language, lowest of five rounds:\n%s", table.String())
}

// example returns the command of a client's example.
func example(language, name string) (file string) {
	switch language {
	case "python":
		return "examples." + name
	case "typescript":
		return filepath.Join("examples", name+".mjs")
	case "java":
		return "example." + strings.ToUpper(name[:1]) + name[1:]
	}
	return name
}
