package main

import (
	"io"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/grid"
)

// startFirst starts a member called alpha that runs alone and has IDs immediately, and
// returns the address of its API.
func startFirst(t *testing.T) (m *grid.Member, api string) {
	t.Helper()
	m, err := grid.Start(t.Context(), grid.Config{
		Expect: 1, MemberName: "alpha", FirstLife: true, GossipAddr: "127.0.0.1:0", RaftAddr: "127.0.0.1:0",
		APIAddr: "127.0.0.1:0",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m, m.Addrs().API
}

// TestTypingErrorsAreSeen: a name that did not exist is said to be created, and none is
// destroyed without a word.
func TestTypingErrorsAreSeen(t *testing.T) {
	t.Parallel()
	m, addr := startFirst(t)
	for _, step := range []struct {
		args           string
		status         int
		stdout, stderr string // parts; "" for nothing
	}{
		{"next ordres -n 2 -o json", exitDone, `{"sequencer":"ordres","ids":["`,
			`snowgrid: created sequencer "ordres" (epoch 2026-01-01T00:00:00.000Z, 8192 nodes)` + "\n"},
		{"next ordres -n 2", exitDone, "\n", ""},
		{"next ordres --nodes 128", exitFailed, "", "conflicting definition: it exists with "},
		{"destroy ordres", exitUsage, "",
			"nothing was done: this command requires confirmation, and the input is not a terminal; give --yes"},
		{"destroy orders", exitFailed, "", "snowgrid: sequencer \"orders\" not found; snowgrid sequencers lists the names\n"},
		{"destroy ordre", exitFailed, "", "not found"},
		{"next ordres", exitDone, "\n", ""},
		{"destroy ordres --yes", exitDone, "destroyed ordres\n", ""},
		{"destroy ordres --yes", exitFailed, "", "not found"},
		{"next ordres", exitDone, "\n", "created"},
		{"forget beta", exitFailed, "", `no member is named "beta"`},
		{"forget alpha", exitFailed, "", "running"},
		{"forget " + m.Addrs().API, exitFailed, "", "running"},
		{"number --set web --data-dir " + t.TempDir() + " -o json", exitDone, `"number": 1`, ""},
		{"alive -o json", exitDone, `"alive": true`, ""},
	} {
		status, stdout, stderr := runCommand(t, append(strings.Fields(step.args), "--addr", addr)...)
		says := func(got, part string) bool { return strings.Contains(got, part) && (part != "" || got == "") }
		if status != step.status || !says(stdout, step.stdout) || !says(stderr, step.stderr) {
			t.Errorf("%s: status %d, want %d; stdout %q, want %q; stderr %q, want %q", step.args, status, step.status, stdout,
				step.stdout, stderr, step.stderr)
		}
	}
}

func TestAnswerToAQuestion(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "Yes\r\n": true, "yes": true, "\n": false, "": false,
		"n\n": false, "yellow\n": false} {
		var asked strings.Builder
		err := answered(strings.NewReader(answer), &asked, "Destroy it?")
		if (err == nil) != want || asked.String() != "Destroy it? [y/N] " {
			t.Errorf("%q: %v after %q", answer, err, asked.String())
		}
	}
	for _, in := range []io.Reader{nil, strings.NewReader("y\n")} {
		if err := confirm(streams{err: io.Discard, in: in}, "Destroy it?"); err == nil {
			t.Error("an input that is no terminal confirms")
		}
	}
}
