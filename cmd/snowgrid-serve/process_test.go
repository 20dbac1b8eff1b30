package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/snowgrid/snowgrid/cmd/snowgrid-serve/snowflakepb"
	"github.com/snowgrid/snowgrid/internal/buildinfo"
)

// binary is the program under test, built once.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "snowgrid-serve")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "snowgrid-serve")
	build := exec.Command("go", "build", "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		os.Exit(1)
	}
	status := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(status)
}

// process is a running snowgrid-serve.
type process struct {
	t          *testing.T
	cmd        *exec.Cmd
	http, grpc string // addresses
	mu         sync.Mutex
	log        bytes.Buffer
}

// Write adds to the log.
func (p *process) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(text)
}

func (p *process) logged() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// start runs the program on free ports, and waits until it listens.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t}
	p.cmd = exec.Command(binary, append([]string{"serve", "--http-addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0"},
		args...)...)
	p.cmd.Stderr = p
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	words := strings.Fields(strings.ReplaceAll(line, ",", ""))
	if err != nil || len(words) != 6 {
		t.Fatalf("it says %q, %v; log:\n%s", line, err, p.logged())
	}
	p.http, p.grpc = words[3], words[5]
	return p
}

// kill ends the process without a chance to write anything.
func (p *process) kill() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}

// stop ends the process in order.
func (p *process) stop() {
	p.t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("the process ended with %v; log:\n%s", err, p.logged())
	}
}

// get returns the status and the body of a path.
func (p *process) get(path string) (int, string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.http+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.do(req)
}

func (p *process) do(req *http.Request) (int, string) {
	p.t.Helper()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatalf("%v; log:\n%s", err, p.logged())
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// post sends JSON to /v1/ids.
func (p *process) post(body string, headers ...string) (int, string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.http+"/v1/ids", strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	return p.do(req)
}

// ids requests IDs, which have to be there.
func (p *process) ids(body string) []string {
	p.t.Helper()
	status, text := p.post(body)
	var out struct{ IDs []string }
	if err := json.Unmarshal([]byte(text), &out); status != http.StatusOK || err != nil || len(out.IDs) == 0 {
		p.t.Fatalf("%s: %d %s; log:\n%s", body, status, text, p.logged())
	}
	return out.IDs
}

// ready waits until the process is ready.
func (p *process) ready() {
	p.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		status, text := p.get("/readyz")
		if status == http.StatusOK {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("not ready: %s; log:\n%s", text, p.logged())
		}
		time.Sleep(20 * time.Millisecond) // readiness is polled, as by its users
	}
}

// dial returns a gRPC client.
func (p *process) dial() snowflakepb.SnowflakeIDClient {
	p.t.Helper()
	conn, err := grpc.NewClient(p.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = conn.Close() })
	return snowflakepb.NewSnowflakeIDClient(conn)
}

// command runs another command of the program and returns its exit status and output.
func command(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var out, errs strings.Builder
	status = run(ctx, args, streams{out: &out, err: &errs})
	return status, out.String(), errs.String()
}

// TestVersion: the command prints the version of the module and of Go.
func TestVersion(t *testing.T) {
	status, stdout, stderr := command(t, "version")
	if want := "version  " + buildinfo.Read().Version + "\ngo       " + runtime.Version() + "\n"; status != exitDone ||
		stdout != want || stderr != "" {
		t.Errorf("status %d, %q, %q; want %q", status, stdout, stderr, want)
	}
}

// unique records IDs, and fails for one that was there.
type unique map[string]bool

func (u unique) add(t *testing.T, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if u[id] {
			t.Fatalf("ID %s twice", id)
		}
		u[id] = true
	}
}
