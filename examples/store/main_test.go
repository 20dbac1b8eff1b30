package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

const runEnv = "SNOWGRID_TEST_RUN_MAIN"

// init makes the test binary the program under test.
func init() {
	if os.Getenv(runEnv) != "" {
		main()
		os.Exit(0)
	}
}

// TestFirstID: in an empty directory the program prints an ID within a second, and a
// larger one the next time.
func TestFirstID(t *testing.T) {
	var took time.Duration
	for range 3 { // A busy machine may be slow once.
		dir := t.TempDir()
		var first, second sequencer.ID
		first, took = run(t, dir)
		if second, _ = run(t, dir); second <= first {
			t.Errorf("ID %d follows %d", second, first)
		}
		if took < time.Second {
			return
		}
	}
	t.Errorf("the first ID took %v", took)
}

// run runs the program in a directory, and returns the ID that it prints and the time
// until then.
func run(t *testing.T, dir string) (sequencer.ID, time.Duration) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), runEnv+"=1"), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	took := time.Since(begin)
	if err := errors.Join(err, cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	id, err := sequencer.Parse(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return id, took
}
