//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/loopback"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

var exportNames = flag.Int("export-names", 300, "sequencers of the export, of which one in 100 is destroyed")

// writeExport writes an export of a grid that ended an hour ago.
func writeExport(t *testing.T, path string, lines ...exportLine) {
	t.Helper()
	names := 0
	for _, line := range lines {
		if line.Sequencer != nil {
			names++
		}
	}
	header := &exportHeader{Version: exportVersion, Grid: "old", ID: "01", Until: time.Now().Add(-time.Hour)}
	out, err := encodeExport(append([]exportLine{{Header: header}}, lines...), names)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out, 0o600); err != nil {
		t.Fatal(err)
	}
}

// defaultName returns the line of a sequencer with the default definition.
func defaultName(t *testing.T, name string) exportLine {
	t.Helper()
	d, err := sequencer.Define(name, sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	req := wire.CreateRequestOf(d)
	return exportLine{Sequencer: &exportedName{name, *req.Epoch, req.Nodes, sequencer.Layout(req.Layout), req.NodeRange}}
}

// idsOf takes n IDs of a sequencer.
func idsOf(t *testing.T, api, name string, n int) (ids []uint64) {
	t.Helper()
	for text := range strings.FieldsSeq(succeed(t, "next", name, "-n", strconv.Itoa(n), "--addr", api)) {
		id, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// TestExportImport: all members and disks of a grid are lost. A new grid with the export has every
// definition, number, setting and quota; other epochs are refused; destroyed names stay destroyed; and
// every ID is above those from before.
func TestExportImport(t *testing.T) {
	long.NotShort(t, "it runs agents as processes")
	t.Parallel()
	names, destroyed := *exportNames, max(1, *exportNames/100)
	dir := t.TempDir()
	lines := []exportLine{{Settings: &exportedSettings{Backups: 2, Window: 2000, Voters: 5}},
		{Quota: &roster.Quota{Pattern: "orders-*", HolderNodes: 77}}}
	for i := range names {
		lines = append(lines, defaultName(t, fmt.Sprintf("orders-%d", i)))
	}
	initial, saved := filepath.Join(dir, "initial"), filepath.Join(dir, "saved")
	writeExport(t, initial, lines...)
	newGrid := func() *agent { return startAgent(t, "127.0.0.1:0", "--expect", "1", "--window", "1s") }
	old := newGrid()
	succeed(t, "import", initial, "--addr", old.api)
	succeed(t, "identity", "import", "7", "--set", "web", "--addr", old.api)
	for range 3 {
		succeed(t, "identity", "register", "7", "--set", "web", "--code", strings.Repeat("5f", 16), "--addr", old.api)
	}
	before := map[string]uint64{}
	for i := range 5 {
		name := fmt.Sprintf("orders-%d", names-1-i)
		ids := idsOf(t, old.api, name, 1000)
		before[name] = ids[len(ids)-1]
	}
	gone := uint64(0)
	for i := range destroyed {
		name := fmt.Sprintf("orders-%d", i)
		if i == 0 {
			ids := idsOf(t, old.api, name, 1000)
			gone = ids[len(ids)-1]
		}
		succeed(t, "destroy", name, "--yes", "--addr", old.api)
	}
	succeed(t, "export", "-f", saved, "--addr", old.api)
	old.signal(os.Kill)
	old.exit()
	grid := newGrid()
	if out := succeed(t, "import", saved, "--addr", grid.api); !strings.Contains(out, fmt.Sprint(names-destroyed)) {
		t.Errorf("import: %s", out)
	}
	var list wire.SequencersResponse
	if err := json.Unmarshal([]byte(succeed(t, "sequencers", "--limit", "0", "-o", "json", "--addr", grid.api)),
		&list); err != nil || len(list.Sequencers) != names-destroyed {
		t.Fatalf("%d sequencers, %v", len(list.Sequencers), err)
	}
	for _, row := range list.Sequencers {
		number, err := strconv.Atoi(strings.TrimPrefix(row.Name, "orders-"))
		if err != nil || number < destroyed {
			t.Errorf("%s exists again", row.Name)
		}
	}
	for name, last := range before {
		if first := idsOf(t, grid.api, name, 1)[0]; first <= last {
			t.Errorf("%s: %d after %d", name, first, last)
		}
		status, _, stderr := runCommand(t, "next", name, "--epoch", "2020-01-01", "--addr", grid.api)
		if status != exitFailed || !strings.Contains(stderr, "another") {
			t.Errorf("%s with another epoch: %d, %s", name, status, stderr)
		}
	}
	if status, _, stderr := runCommand(t, "next", "orders-0", "--epoch", "2026-06-01", "--addr", grid.api); status !=
		exitFailed || !strings.Contains(stderr, "IDs could repeat") {
		t.Errorf("the destroyed name with a later epoch: %d, %s", status, stderr)
	}
	if first := idsOf(t, grid.api, "orders-0", 1)[0]; first <= gone {
		t.Errorf("the destroyed name, created again: %d after %d", first, gone)
	}
	for args, want := range map[string]string{"settings": "backups     2", "quota": "77", "identity list": "web  8"} {
		if out := succeed(t, append(strings.Fields(args), "--addr", grid.api)...); !strings.Contains(out, want) {
			t.Errorf("%s lacks %q: %s", args, want, out)
		}
	}
	if out := succeed(t, "identity", "register", "7", "--set", "web", "--code", strings.Repeat("5f", 16), "--addr",
		grid.api); !strings.Contains(out, "incarnation 4\n") {
		t.Errorf("the number's next start: %s", out)
	}
	refusedImports(t, grid.api, saved)
}

// TestImportAtFloor: a grid whose IDs begin above the export, by the floor in the refusal, takes the import at
// once, with its destroyed sequencers.
func TestImportAtFloor(t *testing.T) {
	long.NotShort(t, "it runs agents as processes")
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ahead")
	header := &exportHeader{Version: exportVersion, Grid: "old", ID: "01", Until: time.Now().Add(time.Hour)}
	out, err := encodeExport([]exportLine{{Header: header}, defaultName(t, "orders"),
		{Destroyed: defaultName(t, "bills").Sequencer},
		{Destroyed: &exportedName{Name: "ended", Layout: sequencer.Layout{Bits: 53, LowBits: 13, Nodes: 16}}}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--expect", "1", "--window", "1s"}
	_, _, stderr := runCommand(t, "import", path, "--addr", startAgent(t, "127.0.0.1:0", args...).api)
	_, floor, found := strings.Cut(strings.TrimSpace(stderr), "--floor ")
	if !found {
		t.Fatal(stderr)
	}
	gossip, err := loopback.FreeAddrs(3)
	if err != nil {
		t.Fatal(err)
	}
	ignore := func(r io.Reader) { _, _ = io.Copy(io.Discard, r) }
	start(t, ignore, "agent", "--gossip-addr", gossip[0], "--raft-addr", gossip[1], "--api-addr", gossip[2],
		"--expect", "1", "--window", "1s", "--data-dir", t.TempDir(), "--floor", floor)
	began := time.Now()
	for { // until the agent answers
		status, _, stderr := runCommand(t, "import", path, "--addr", gossip[2])
		if status == 0 {
			if !strings.Contains(stderr, "ended is not restored, since its IDs ended at ") {
				t.Errorf("the import: %s", stderr)
			}
			break
		}
		if time.Since(began) > patience {
			t.Fatal(stderr)
		}
	}
	if status, _, stderr := runCommand(t, "next", "bills", "--epoch", "2026-06-01", "--addr", gossip[2]); status !=
		exitFailed || !strings.Contains(stderr, "IDs could repeat") {
		t.Errorf("the destroyed name with a later epoch: %d, %s", status, stderr)
	}
}

// TestImportContinuesAtAQuota: a complete import can be continued, although the quota that it restored leaves no room
// for the sequencers that it has created and destroyed.
func TestImportContinuesAtAQuota(t *testing.T) {
	long.NotShort(t, "it runs an agent as a process")
	t.Parallel()
	saved := filepath.Join(t.TempDir(), "saved")
	newGrid := func() *agent { return startAgent(t, "127.0.0.1:0", "--expect", "1", "--window", "1s") }
	old := newGrid()
	idsOf(t, old.api, "orders-1", 1)
	idsOf(t, old.api, "orders-gone", 1)
	succeed(t, "destroy", "orders-gone", "--yes", "--addr", old.api)
	succeed(t, "quota", "set", "orders-*", "--names", "1", "--addr", old.api)
	succeed(t, "export", "-f", saved, "--addr", old.api)
	old.signal(os.Kill)
	old.exit()
	a := newGrid()
	succeed(t, "import", saved, "--addr", a.api)
	succeed(t, "import", saved, "--continue", "--addr", a.api)
	succeed(t, "quota", "set", "orders-*", "--names", "2", "--addr", a.api)
	if status, _, stderr := runCommand(t, "next", "orders-gone", "--epoch", "2026-06-01", "--addr", a.api); status !=
		exitFailed || !strings.Contains(stderr, "IDs could repeat") {
		t.Errorf("the destroyed name with a later epoch: %d, %s", status, stderr)
	}
}

// TestImportRefusesLines: a file that no grid exports is refused, by its line, before anything is done.
func TestImportRefusesLines(t *testing.T) {
	limit := roster.Quota{Pattern: "a", Names: -5}
	header := exportHeader{Version: exportVersion, ID: "01", Until: time.Now()}
	for want, lines := range map[string][]exportLine{
		"line 2: ": {{Settings: &exportedSettings{}}},
		"line 2: it has 2 parts": {{Settings: &exportedSettings{Backups: 1, Window: 1000, Voters: 3},
			Quota: &roster.Quota{Pattern: "a", Names: 1}}},
		"line 2: it has 0 parts": {{}},
		"line 3: the settings are there twice": {{Settings: &exportedSettings{Backups: 1, Window: 1000, Voters: 3}},
			{Settings: &exportedSettings{Backups: 1, Window: 1000, Voters: 3}}},
		"line 3: \"orders\" is there twice": {defaultName(t, "orders"), {Destroyed: defaultName(t, "orders").Sequencer}},
		"line 2: sequencer: epoch":          {{Destroyed: &exportedName{Name: "orders", Epoch: -1 << 62}}},
		"window":                            {{Settings: &exportedSettings{Backups: 1, Window: -5, Voters: 3}}},
		"voters":                            {{Settings: &exportedSettings{Backups: 1, Window: 1000, Voters: 2}}},
		"quota":                             {{Quota: &limit}},
		"number":                            {{Set: &wire.IdentitySet{Cluster: "c", Name: "s", Next: 1 << 63}}},
		"set":                               {{Set: &wire.IdentitySet{Cluster: "c", Name: "bad\x00", Next: 2}}},
	} {
		refusesExport(t, want, append([]exportLine{{Header: &header}}, lines...))
	}
	for _, h := range []exportHeader{{Version: exportVersion, Until: time.Now()}, {Version: exportVersion, ID: "01"},
		{Version: exportVersion, ID: "01", Until: time.Date(2400, 1, 1, 0, 0, 0, 0, time.UTC)}} {
		refusesExport(t, "line 1: the header", []exportLine{{Header: &h}})
	}
	refusesExport(t, "this release reads format 1", []exportLine{{Header: &exportHeader{Version: 2}}})
}

func refusesExport(t *testing.T, want string, lines []exportLine) {
	t.Helper()
	out, err := encodeExport(lines, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readExport(bytes.NewReader(out)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %q", out, err, want)
	}
}

// TestImportIsInterrupted: an import of a pipe that does not end ends with its context.
func TestImportIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	defer func() { _ = out.Close() }()
	time.AfterFunc(50*time.Millisecond, cancel)
	var stdout, stderr strings.Builder
	status := run(ctx, []string{"import", "-"}, streams{out: &stdout, err: &stderr, in: in})
	if status != exitFailed || !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("status %d, %s", status, stderr.String())
	}
}

// refusedImports imports files that are refused into a grid that has their names.
func refusedImports(t *testing.T, api, saved string) {
	t.Helper()
	whole, err := os.ReadFile(saved)
	if err != nil {
		t.Fatal(err)
	}
	_, stdout, _ := runCommand(t, "export", "--addr", api)
	changed := bytes.Replace(whole, []byte(`"voters":5`), []byte(`"voters":3`), 1)
	withoutEnd := whole[:bytes.LastIndexByte(whole[:len(whole)-1], '\n')+1]
	write := func(name string, data []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	other := defaultName(t, "orders-200000")
	other.Sequencer.Epoch++
	future := filepath.Join(t.TempDir(), "future")
	out, err := encodeExport([]exportLine{
		{Header: &exportHeader{Version: exportVersion, Grid: "old", ID: "02", Until: time.Now().Add(time.Hour)}}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(future, out, 0o600); err != nil {
		t.Fatal(err)
	}
	succeed(t, "next", "orders-200000", "--addr", api)
	conflicting := filepath.Join(t.TempDir(), "other")
	writeExport(t, conflicting, other)
	for _, test := range []struct{ what, path, want string }{
		{"its own export", write("own", []byte(stdout)), "the export is of this grid"},
		{"names that exist", saved, "may have issued the same IDs"},
		{"a changed byte", write("changed", changed), "the file was changed"},
		{"a part", write("part", whole[:len(whole)/2]), "line "},
		{"a file without its last line", write("cut", withoutEnd), "has no end"},
		{"no export", write("none", []byte("{}\n")), "an export begins with one header"},
		{"another definition", conflicting, "with another definition"},
		{"a time in the future", future, "--floor"},
	} {
		status, _, stderr := runCommand(t, "import", test.path, "--addr", api)
		if status == 0 || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: status %d, %s; want %q", test.what, status, stderr, test.want)
		}
	}
	if status, _, stderr := runCommand(t, "import", "--continue", saved, "--addr", api); status != 0 {
		t.Errorf("with --continue: %s", stderr)
	}
	if status, _, stderr := runCommand(t, "export", "-f", saved, "--addr", api); status != exitUsage ||
		!strings.Contains(stderr, "exists") {
		t.Errorf("an export over a file: %d, %s", status, stderr)
	}
}
