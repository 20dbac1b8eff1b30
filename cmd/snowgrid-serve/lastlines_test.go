package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// slowPipe is a pipe whose reader takes a while for each line.
type slowPipe struct {
	mu  sync.Mutex
	got bytes.Buffer // guarded by mu
}

func (p *slowPipe) Write(b []byte) (int, error) {
	time.Sleep(300 * time.Millisecond) // longer than the wait of a caller for its line
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.got.Write(b)
}

func (p *slowPipe) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.got.String()
}

// TestReasonOfAFailedStartIsWritten: a slow reader of stderr gets the last line.
func TestReasonOfAFailedStartIsWritten(t *testing.T) {
	var errs slowPipe
	code := run(t.Context(), []string{"serve", "--http-addr="}, streams{out: &slowPipe{}, err: &errs})
	if code != exitUsage {
		t.Errorf("exit status %d", code)
	}
	if text := errs.text(); !strings.Contains(text, "--http-addr: empty") {
		t.Errorf("the log is %q", text)
	}
}

// TestReaderOfTheLogEnds: a process whose stderr has no reader left serves, and returns its logical node.
func TestReaderOfTheLogEnds(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	at := "file:" + t.TempDir()
	p := &process{t: t}
	p.cmd = exec.Command(binary, "serve", "--store", at, "--http-addr", "127.0.0.1:0", "--grpc-addr", "none")
	p.cmd.Stderr = w
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	_ = w.Close()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	p.http = strings.TrimSuffix(strings.Fields(line)[3], ",")
	p.ready()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
	if r := recordsOf(t, at, "default"); r[0].State != "free" || r[0].Version != 1 {
		t.Errorf("the record after the end is %+v", r[0])
	}
}
