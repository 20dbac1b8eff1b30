package main

import (
	"encoding/json"
	"github.com/snowgrid/snowgrid/internal/long"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// startLone starts a member that runs alone, and returns the address of its API.
func startLone(t *testing.T) string {
	t.Helper()
	m, err := grid.Start(t.Context(), grid.Config{Expect: 1, GossipAddr: "127.0.0.1:0", RaftAddr: "127.0.0.1:0",
		APIAddr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m.Addrs().API
}

// TestIdentityCommands goes through the life of a set on the command line.
func TestIdentityCommands(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	const code = "0123456789abcdef0123456789abcdef"
	addr := startLone(t)
	saved := filepath.Join(t.TempDir(), "numbers.json")
	for _, step := range []struct {
		args           string
		status         int
		stdout, stderr string // parts; "" in stdout wants no output
	}{
		{"list", 0, "CLUSTER  SET  NEXT  PROCESSES\n", ""},
		{"list --set web", 1, "", "set snowgrid/web: no process has applied"},
		{"next --set web", 0, "1\n", ""},
		{"apply 2 --set web", 1, "", "number 2 of snowgrid/web refused: it is not the next one; the next number is 1"},
		{"apply 1 --set web --code short", 1, "", "32 lower-case hex digits"},
		{"apply 1 --set web --process-addr 10.0.0.1:80 --code " + code, 0, "number 1 with code " + code, ""},
		{"apply 1 --set web", 1, "", "another process has it"},
		{"apply 2 --set web", 0, "number 2 with code ", ""},
		{"register 1 --set web --code " + code, 0, "incarnation 1\n", ""},
		{"register 1 --set web --incarnation 1 --code " + code, 0, "incarnation 1\n", ""},
		{"register 1 --set web --code " + code, 0, "incarnation 2\n", ""},
		{"register 1 --set web --incarnation 1 --code " + code, 1, "", "fenced"},
		{"register 2 --set web --code " + code, 1, "", "with another code"},
		{"next --set web -o json", 0, `"next": 3`, ""},
		{"list --set web", 0, "1       10.0.0.1:80  2            registered  yes    -", ""},
		{"clean 1 --set web", 1, "", "number 1 at \"10.0.0.1:80\" is alive"},
		{"clean 1 9 --set web --force", 0, "removed 1 of 2 numbers", ""},
		{"import 1-3 7=" + code + " --set web", 0, "set snowgrid/web: 4 processes, the next number is 8", ""},
		{"import --set web --next 20", 0, "the next number is 20", ""},
		{"import 3-1 --set web", 2, "", `"3-1" is a descending range; give the smaller number first: 1-3`},
		{"import 1-9000 --set web", 2, "", "at most 8192"},
		{"import 1-2=" + code + " --set web", 2, "", "several numbers"},
		{"import 0 --set web", 2, "", "is not a number from 1"},
		{"import 1", 2, "", "either --file, or --set"},
		{"import --file " + saved, 2, "", "no such file"},
		{"clean --set web", 2, "", "<number>"},
		{"next", 2, "", "--set"},
	} {
		status, stdout, stderr := runCommand(t, append(append([]string{"identity"}, strings.Fields(step.args)...),
			"--addr", addr)...)
		if status != step.status || !strings.Contains(stdout, step.stdout) || step.stdout == "" && stdout != "" ||
			!strings.Contains(stderr, step.stderr) {
			t.Errorf("%s: status %d, want %d; stdout wants %q, stderr wants %q; stdout:\n%s\nstderr:\n%s",
				step.args, status, step.status, step.stdout, step.stderr, stdout, stderr)
		}
	}
	if _, stdout, _ := runCommand(t, "status", "--addr", addr); !strings.Contains(stdout, "CLUSTER") ||
		!strings.Contains(stdout, "snowgrid") || !strings.Contains(stdout, "NEXT NUMBER") {
		t.Errorf("the status is\n%s", stdout)
	}
	_, listed, _ := runCommand(t, "identity", "list", "-o", "json", "--addr", addr)
	if err := os.WriteFile(saved, []byte(listed), 0o600); err != nil {
		t.Fatal(err)
	}
	other := startLone(t)
	if status, stdout, stderr := runCommand(t, "identity", "import", "--file", saved, "--addr", other); status != 0 ||
		!strings.Contains(stdout, "4 processes, the next number is 20") {
		t.Errorf("import into another grid: %d\n%s%s", status, stdout, stderr)
	}
	var before, after wire.IdentityListResponse
	_, restored, _ := runCommand(t, "identity", "list", "-o", "json", "--addr", other)
	for text, into := range map[string]*wire.IdentityListResponse{listed: &before, restored: &after} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	numbers := func(r wire.IdentityListResponse) (out []uint64) {
		for _, m := range r.Sets[0].Members {
			out = append(out, m.ID)
		}
		return out
	}
	if want := []uint64{1, 2, 3, 7}; !slices.Equal(numbers(before), want) || !slices.Equal(numbers(after), want) {
		t.Errorf("numbers %v, restored as %v", numbers(before), numbers(after))
	}
	if was, is := before.Sets[0].Incarnation, after.Sets[0].Incarnation; was != 2 || is != 2 { // of the removed number 1
		t.Errorf("incarnation %d, restored as %d", was, is)
	}
	began := time.Now()
	if status, _, stderr := runCommand(t, "identity", "list", "--addr", "127.0.0.1:1"); status != 3 ||
		time.Since(began) > 5*time.Second {
		t.Errorf("no member: %d %s", status, stderr)
	}
}
