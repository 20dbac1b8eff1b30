//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"github.com/snowgrid/snowgrid/internal/long"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/loopback"
)

// exampleFiles copies the files of examples/config to a directory, with free ports for
// theirs, and returns the directory.
func exampleFiles(t *testing.T) string {
	t.Helper()
	ports := []string{"7946", "7947", "7948", "7956", "7957", "7958", "7966", "7967", "7968"}
	free, err := loopback.FreeAddrs(len(ports))
	if err != nil {
		t.Fatal(err)
	}
	var pairs []string
	for i, port := range ports {
		pairs = append(pairs, "127.0.0.1:"+port, free[i])
	}
	dir, replace := t.TempDir(), strings.NewReplacer(append(pairs, "security-dir: security",
		"security-dir: "+secureDir(t, "--grid", "example"))...)
	for _, name := range []string{"a.yaml", "b.yaml", "c.yaml"} {
		text, err := os.ReadFile(filepath.Join("../../examples/config", name))
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.ReplaceAll(replace.Replace(string(text)), "data-dir: data/", "data-dir: "+dir+"/data/")
		if err := os.WriteFile(filepath.Join(dir, name), []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// startConfigured starts an agent from a file, and returns it with the line that it prints
// when it serves.
func startConfigured(t *testing.T, path string) (*agent, <-chan string) {
	t.Helper()
	served := make(chan string, 1)
	p := start(t, func(r io.Reader) {
		line, _ := bufio.NewReader(r).ReadString('\n')
		served <- line
	}, "agent", "--config", path)
	return &agent{process: p, dir: path}, served
}

// TestGridFromFiles: the files of examples/config form a grid of three, and every command
// takes its address from one of them. SIGHUP changes the log level of a running agent, and a
// broken file changes nothing.
func TestGridFromFiles(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	dir := exampleFiles(t)
	var agents []*agent
	var lines []<-chan string
	for _, name := range []string{"a.yaml", "b.yaml", "c.yaml"} {
		path := filepath.Join(dir, name)
		if status, stdout, stderr := runCommand(t, "config", "check", path); status != exitDone {
			t.Fatalf("check: status %d: %s%s", status, stdout, stderr)
		}
		a, served := startConfigured(t, path)
		agents, lines = append(agents, a), append(lines, served)
	}
	for i, a := range agents {
		a.awaitAPI(lines[i])
	}
	file := filepath.Join(dir, "b.yaml")
	for _, c := range [][2]string{
		{"next orders -n 3", "\n"},
		{"status", "example ("},
		{"status -o json", `"name": "example"`},
		{"settings", "backups     1"},
		{"settings set window=20s", "window      20s"},
		{"settings set expect=3", "expect      3\n"},
		{"config print", file + ":3"},
		{"members", agents[0].api},
		{"sequencers", "orders"},
		{"holders orders", ""},
		{"identity list", ""},
		{"number --set web --data-dir " + dir + "/n", "1\n"},
	} {
		args, want := c[0], c[1]
		words := append(strings.Fields(args), "--config", file)
		if status, stdout, stderr := runCommand(t, words...); status != exitDone || !strings.Contains(stdout, want) {
			t.Errorf("%s: status %d, want %q in\n%s%s", args, status, want, stdout, stderr)
		}
	}
	if status, _, stderr := runCommand(t, "destroy", "orders", "--yes", "--config", file); status != exitDone {
		t.Errorf("destroy: status %d: %s", status, stderr)
	}

	a := agents[0]
	text, err := os.ReadFile(a.dir)
	if err != nil {
		t.Fatal(err)
	}
	reload := func(text, want string) {
		t.Helper()
		if err := os.WriteFile(a.dir, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		a.signal(syscall.SIGHUP)
		await(t, want, func() bool { return strings.Contains(a.stderr.String(), want) })
	}
	reload(strings.Replace(string(text), "log-level: info", "log-level: debug", 1), "log-level: info -> debug")
	reload(strings.Replace(string(text), "log-level: info", "log-level: loud", 1), "configuration not reloaded")
	reload(strings.Replace(string(text), "log-level: info", "log-level: info", 1), "log-level: debug -> info")
	await(t, "a grid of three", func() bool {
		var s grid.Status
		_, stdout, _ := runCommand(t, "status", "-o", "json", "--config", file)
		return json.Unmarshal([]byte(stdout), &s) == nil && len(s.Members) == 3 && s.Ready
	})
	for _, a := range agents {
		a.signal(syscall.SIGTERM)
	}
	for _, a := range agents {
		if status := a.exit(); status != exitDone {
			t.Errorf("%s: status %d", a.dir, status)
		}
	}
}

// TestBrokenFileIsOneLine: an agent with a broken file ends with one line.
func TestBrokenFileIsOneLine(t *testing.T) {
	t.Parallel()
	path := writeConfig(t, "name: shop\nexpct: 3\n")
	status, stdout, stderr := command(t, "agent", "--config", path)
	if want := "snowgrid: " + path +
		`:2:1: expct: "3": unknown key; did you mean expect? All keys are in snowgrid config reference` +
		"\n"; status != exitUsage || stdout != "" || stderr != want {
		t.Errorf("status %d, stdout %q, stderr\n%s, want\n%s", status, stdout, stderr, want)
	}
}
