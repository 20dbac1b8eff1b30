//go:build unix

package upgrade

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait for something that should happen soon.
const patience = 60 * time.Second

// process is a program that runs.
type process struct {
	name  string
	cmd   *exec.Cmd
	stdin io.Closer
	log   string        // file of its standard error
	first chan struct{} // closed when it has printed a line
	ended chan struct{} // closed when it has ended

	mu    sync.Mutex // guards lines
	lines []string   // of its standard output
}

// start starts a program. It is killed at the end of the test if it still runs.
func start(t *testing.T, name, log, program string, args ...string) *process {
	t.Helper()
	p := &process{name: name, cmd: exec.Command(program, args...), log: log, first: make(chan struct{}),
		ended: make(chan struct{})}
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "SNOWGRID_") {
			p.cmd.Env = append(p.cmd.Env, kv)
		}
	}
	stderr, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stderr.Close() }()
	p.cmd.Stderr = stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.follow(stdout)
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		if t.Failed() {
			t.Logf("%s: %v %v\n%s", name, p.cmd.ProcessState, p.said(), tail(log))
		}
	})
	return p
}

// follow reads the standard output to its end, and waits for the end of the process.
func (p *process) follow(stdout io.Reader) {
	defer close(p.ended)
	lines := bufio.NewScanner(stdout)
	for n := 0; lines.Scan(); n++ {
		p.mu.Lock()
		p.lines = append(p.lines, lines.Text())
		p.mu.Unlock()
		if n == 0 {
			close(p.first)
		}
	}
	_ = p.cmd.Wait()
}

// said returns the lines that the process has printed.
func (p *process) said() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.lines...)
}

// hasEnded reports whether the process has ended.
func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// awaitFirst waits for the first line.
func (p *process) awaitFirst(t *testing.T) {
	t.Helper()
	select {
	case <-p.first:
	case <-p.ended:
		t.Fatalf("%s has ended: %v\n%s", p.name, p.said(), tail(p.log))
	case <-time.After(patience):
		t.Fatalf("%s says nothing within %v\n%s", p.name, patience, tail(p.log))
	}
}

// end ends the process by a signal, or with nil by the end of its standard input, and
// returns its exit status.
func (p *process) end(t *testing.T, by os.Signal) int {
	t.Helper()
	if by == nil {
		_ = p.stdin.Close()
	} else {
		_ = p.cmd.Process.Signal(by)
	}
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatalf("%s has not ended within %v\n%s", p.name, patience, tail(p.log))
	}
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return -1
	}
	return p.cmd.ProcessState.ExitCode()
}

// tail returns the end of a file.
func tail(file string) string {
	text, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-3000):])
}
