//go:build unix

package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
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

const window = time.Second

// process is a running program.
type process struct {
	*testing.T
	cmd      *exec.Cmd
	requests io.WriteCloser
	answers  *bufio.Reader
}

func startProcess(t *testing.T, dir string) *process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-dir", dir, "-window", window.String())
	cmd.Env, cmd.Stderr = append(os.Environ(), runEnv+"=1"), os.Stderr
	requests, inErr := cmd.StdinPipe()
	answers, outErr := cmd.StdoutPipe()
	if inErr != nil || outErr != nil {
		t.Fatal(inErr, outErr)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &process{t, cmd, requests, bufio.NewReader(answers)}
}

func (p *process) signal(s syscall.Signal) {
	p.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.Fatal(err)
	}
}

// request sends a line and returns the answer.
func (p *process) request(line string) string {
	p.Helper()
	if _, err := io.WriteString(p.requests, line+"\n"); err != nil {
		p.Fatal(err)
	}
	answer, err := p.answers.ReadString('\n')
	if err != nil {
		p.Fatalf("after request %q: %q, %v", line, answer, err)
	}
	return strings.TrimSpace(answer)
}

// ids is every ID so far, with the node it has to be of.
type ids struct {
	*testing.T
	def  sequencer.Definition
	seen map[sequencer.ID]bool
}

func (s ids) note(id sequencer.ID, node sequencer.NodeID) {
	s.Helper()
	if s.seen[id] {
		s.Errorf("ID %d was issued twice", id)
	}
	s.seen[id] = true
	if n := s.def.Decompose(id).Node; n != node {
		s.Errorf("ID %d is of node %d, not %d", id, n, node)
	}
}

// attach opens a client and takes a logical node.
func attach(t *testing.T, dir string) (*store.Client, *sequencer.Sequencer) {
	t.Helper()
	f, err := store.OpenFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	c, err := store.Open(t.Context(), f, store.Config{Window: window, Pool: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	s, err := c.CreateSequencer(t.Context(), "requests", sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

// TestFrozen: a process is frozen until another one has its logical node. When it runs
// again it answers from a node of its own.
func TestFrozen(t *testing.T) {
	dir := t.TempDir()
	first, firstIDs := attach(t, dir) // node 0 of 2
	all := ids{t, firstIDs.Definition(), map[sequencer.ID]bool{}}
	p := startProcess(t, dir)
	take := func(node sequencer.NodeID) {
		t.Helper()
		for field := range strings.FieldsSeq(p.request("50")) {
			id, err := sequencer.Parse(field)
			if err != nil {
				t.Fatal(err)
			}
			all.note(id, node)
		}
	}
	take(1)
	if answer := p.request("0"); !strings.HasPrefix(answer, "error: 0 IDs requested") {
		t.Errorf("a request for none: %q", answer)
	}

	p.signal(syscall.SIGSTOP)
	_, secondIDs := attach(t, dir) // It waits until node 1 has expired.
	for range 50 {
		id, err := secondIDs.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all.note(id, 1)
	}
	if err := first.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.signal(syscall.SIGCONT)
	take(0)
	if len(all.seen) != 150 {
		t.Errorf("%d IDs, not 150", len(all.seen))
	}

	if err := p.requests.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("at the end of the requests: %v", err)
	}
}
