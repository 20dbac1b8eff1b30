//go:build unix

package main

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/loopback"
	"github.com/snowgrid/snowgrid/sequencer"
)

func TestInitCommandLine(t *testing.T) {
	tests := []struct {
		args           string
		status         int
		stdout, stderr string // parts
	}{
		{"init --help", 0, "snowgrid init --addr 10.0.0.1:7948 --force", ""},
		{"init --addr 127.0.0.1:1", 1, "", "nothing was done"},
		{"init --addr 127.0.0.1:1 --force", 1, "", "no member answers at 127.0.0.1:1 (connection refused); check --addr"},
		{"init --addr 127.0.0.1:1 --force --floor 1234567890123", 2, "", "add the epoch"},
		{"init --addr 127.0.0.1:1 --force --floor soon", 2, "", "neither a time nor an ID"},
		{"init --colour", 2, "", "--colour"},
	}
	for _, test := range tests {
		status, stdout, stderr := runCommand(t, strings.Fields(test.args)...)
		if status != test.status || !strings.Contains(stdout, test.stdout) || !strings.Contains(stderr, test.stderr) {
			t.Errorf("%s: status %d, want %d; stdout:\n%s\nstderr:\n%s", test.args, status, test.status, stdout, stderr)
		}
	}
}

// startForgetful starts agents that keep nothing on disk and form a grid.
func startForgetful(t *testing.T, n int) []*agent {
	t.Helper()
	long.NotShort(t, "it runs several agents as processes")
	gossip, err := loopback.FreeAddrs(n)
	if err != nil {
		t.Fatal(err)
	}
	agents := make([]*agent, n)
	var starting sync.WaitGroup
	for i := range agents {
		starting.Go(func() {
			a := &agent{}
			served := make(chan string, 1)
			a.process = start(t, func(r io.Reader) {
				line, _ := bufio.NewReader(r).ReadString('\n')
				served <- line
			}, "agent", "--gossip-addr", gossip[i], "--raft-addr", "127.0.0.1:0", "--api-addr", "127.0.0.1:0", "--window", "1s",
				"--expect", strconv.Itoa(n), "--join", strings.Join(gossip, ","))
			a.awaitAPI(served)
			agents[i] = a
		})
	}
	starting.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return agents
}

// TestInitProcess: two of three memory-only members are killed. The status of the third
// names the command for recovery, and after it IDs are above all earlier ones.
func TestInitProcess(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	agents := startForgetful(t, 3)
	before, err := nextIDs(t, agents[0].api, 1000)
	if err != nil {
		t.Fatal(err)
	}
	last := before[len(before)-1]
	orders, err := sequencer.Define("orders", sequencer.Config{Epoch: epoch.Default})
	if err != nil {
		t.Fatal(err)
	}

	healthy, stdout, stderr := command(t, "init", "--addr", agents[0].api, "--force")
	if healthy != exitFailed || stdout != "" || !strings.Contains(stderr, "the grid still has a leader") {
		t.Errorf("init of a healthy grid: status %d, stdout %q, stderr %q", healthy, stdout, stderr)
	}
	survivor := agents[0]
	for _, a := range agents[1:] {
		a.signal(os.Kill)
		a.exit()
	}
	awaitStatus(t, survivor.api, func(s grid.Status) string {
		if !strings.Contains(s.Advice, "snowgrid init --force --addr "+survivor.api) {
			return "advice " + strconv.Quote(s.Advice)
		}
		return ""
	})
	if _, stdout, _ := command(t, "status", "--addr", survivor.api); !strings.Contains(stdout, "to do") {
		t.Errorf("status does not say what to do:\n%s", stdout)
	}
	status, stdout, stderr := command(t, "init", "--addr", survivor.api)
	if status != exitFailed || stdout != "" || !strings.Contains(stderr, "nothing was done") {
		t.Errorf("without --force: status %d, stdout %q, stderr %q", status, stdout, stderr)
	}

	floor := time.Now().Add(6 * time.Second) // later than IDs would begin without one
	status, stdout, stderr = command(t, "init", "--addr", survivor.api, "--force",
		"--floor", orders.MaxID(floor).String(), "--epoch", "2026-01-01")
	if status != exitDone || !strings.Contains(stdout, "with 1 member;") {
		t.Fatalf("init: status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	var after []sequencer.ID
	await(t, "IDs after init", func() bool {
		after, err = nextIDs(t, survivor.api, 10)
		return err == nil
	})
	if after[0] <= last || !orders.Decompose(after[0]).Time.After(floor) {
		t.Errorf("first ID %d at %v, before %d, floor %v", after[0], orders.Decompose(after[0]).Time, last, floor)
	}
	if _, stdout, _ := command(t, "status", "--addr", survivor.api); strings.Contains(stdout, "to do") {
		t.Errorf("status still wants something done:\n%s", stdout)
	}
}

// nextIDs prints IDs of orders.
func nextIDs(t *testing.T, api string, n int) (ids []sequencer.ID, err error) {
	t.Helper()
	var out, errs strings.Builder
	run(t.Context(), []string{"next", "orders", "-n", strconv.Itoa(n), "--addr", api, "--timeout", "40s"},
		streams{out: &out, err: &errs})
	for _, line := range strings.Fields(out.String()) {
		id, err := sequencer.Parse(line)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	if len(ids) != n {
		return nil, io.ErrUnexpectedEOF
	}
	return ids, nil
}
