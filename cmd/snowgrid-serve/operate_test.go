package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// recordsOf returns the records of a sequencer, by snowgrid-serve status.
func recordsOf(t *testing.T, store, name string) []nodeRecord {
	t.Helper()
	code, out, errs := command(t, "status", name, "--store", store, "-o", "json")
	var all []sequencerRecords
	if err := json.Unmarshal([]byte(out), &all); code != 0 || err != nil || len(all) != 1 {
		t.Fatalf("%d %s %s %v", code, errs, out, err)
	}
	return all[0].Records
}

// TestOperatorsCommands: scale, retire and repair change the records while a process holds
// one, and it continues with other ones. No ID is given twice.
func TestOperatorsCommands(t *testing.T) {
	dir := t.TempDir()
	at := "file:" + dir
	p := start(t, "--store", at, "--window", "1s", "--max-server-cnt", "4")
	p.ready()
	seen := unique{}
	seen.add(t, p.ids(`{"n":100}`)...)
	if r := recordsOf(t, at, "default"); len(r) != 4 || r[0].State != "held" || r[3].State != "free" {
		t.Fatalf("%+v", r)
	}

	if code, out, errs := command(t, "retire", "default", "0", "--store", at); code != 0 ||
		!strings.Contains(out, "retired") {
		t.Fatalf("%d %s %s", code, out, errs)
	}
	p.holds(at, 1)
	seen.add(t, p.ids(`{"n":100}`)...)

	if code, out, errs := command(t, "scale", "default", "6", "--store", at); code != 0 ||
		!strings.Contains(out, "6 in use") {
		t.Fatalf("%d %s %s", code, out, errs)
	}
	if r := recordsOf(t, at, "default"); len(r) != 6 || r[0].State != "free" || r[0].Version != 1 {
		t.Errorf("scaled up: %+v", r)
	}
	if code, out, errs := command(t, "scale", "default", "1", "--store", at); code != 0 ||
		!strings.Contains(out, "1 in use") {
		t.Fatalf("%d %s %s", code, out, errs)
	}
	p.holds(at, 0)
	seen.add(t, p.ids(`{"n":100}`)...)

	// The record of the only node is deleted: the process stops when its grant has ended,
	// until a person repairs it.
	if err := os.Remove(filepath.Join(dir, "default", "0.json")); err != nil {
		t.Fatal(err)
	}
	p.waitFor("/readyz", 503)
	if r := recordsOf(t, at, "default"); r[0].State != "missing" || !strings.Contains(r[0].Trouble, "repair") {
		t.Errorf("%+v", r[0])
	}
	for _, floor := range []string{"1970-01-02", "soon"} {
		if code, _, errs := command(t, "repair", "default", "0", "--store", at, "--floor", floor); code == 0 {
			t.Errorf("repaired with floor %s: %s", floor, errs)
		}
	}
	floor := time.Now().Add(2 * time.Second).UTC().Format(time.RFC3339Nano)
	if code, out, errs := command(t, "repair", "default", "0", "--store", at, "--floor", floor); code != 0 ||
		!strings.Contains(out, "free") {
		t.Fatalf("%d %s %s", code, out, errs)
	}
	p.holds(at, 0)
	seen.add(t, p.ids(`{"n":100}`)...)
	p.stop()

	for _, args := range []string{"scale nothing 3", "retire nothing 0", "repair nothing 0 --floor 2026-11-22",
		"status nothing", "scale default 0", "scale default 9000", "retire default 7000"} {
		if code, _, errs := command(t, append(strings.Fields(args), "--store", at)...); code != exitFailed ||
			!strings.HasPrefix(errs, "snowgrid-serve: ") {
			t.Errorf("%s: %d %s", args, code, errs)
		}
	}
}

// TestNegativeArguments: a negative number is a wrong value and no flag.
func TestNegativeArguments(t *testing.T) {
	for args, want := range map[string]string{
		"scale default -5":     "snowgrid-serve: <slots>: \"-5\" is not a whole number from 0 up\n",
		"scale default five":   "snowgrid-serve: <slots>: \"five\" is not a whole number\n",
		"retire default -17":   "snowgrid-serve: <node>: \"-17\" is not a whole number from 0 up\n",
		"retire default 1 -17": "snowgrid-serve: unknown flag -1",
	} {
		code, _, errs := command(t, strings.Fields(args)...)
		if code != exitUsage || !strings.HasPrefix(errs, want) {
			t.Errorf("%s: %d %s", args, code, errs)
		}
	}
}

// holds waits until a node is held.
func (p *process) holds(at string, node int) {
	p.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		r := recordsOf(p.t, at, "default")[node]
		if r.State == "held" {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("node %d is %+v; log:\n%s", node, r, p.logged())
		}
		time.Sleep(20 * time.Millisecond) // the store is polled, as by an operator
	}
}

// waitFor waits until a path has a status.
func (p *process) waitFor(path string, want int) {
	p.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		status, text := p.get(path)
		if status == want {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s is %d %s, want %d; log:\n%s", path, status, text, want, p.logged())
		}
		time.Sleep(20 * time.Millisecond) // readiness is polled, as by its users
	}
}

// TestTableKeepsItsShape: texts that came from the store cannot break the table, and unused
// records are one line.
func TestTableKeepsItsShape(t *testing.T) {
	var out strings.Builder
	records := []nodeRecord{{Node: 0, State: "held", Task: "a\nb\tc"}, {Node: 1, State: "free"}, {Node: 2, State: "free"},
		{Node: 3, State: "free", Version: 1}, {Node: 4, State: "free"}}
	if err := printRecords(&out, records); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[2], "1-2 ") || !strings.Contains(lines[1], `"a\nb\tc"`) ||
		!strings.HasPrefix(lines[4], "4 ") {
		t.Errorf("%s", out.String())
	}
}
