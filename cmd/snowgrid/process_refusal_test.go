//go:build unix

package main

import (
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/long"
)

func TestAgentPortInUse(t *testing.T) {
	t.Parallel()
	held, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	for _, flag := range []string{"--gossip-addr", "--raft-addr", "--api-addr"} {
		args := []string{"agent", "--expect", "1"}
		for _, other := range []string{"--gossip-addr", "--raft-addr", "--api-addr"} {
			addr := "127.0.0.1:0"
			if other == flag {
				addr = held.Addr().String()
			}
			args = append(args, other, addr)
		}
		status, stdout, stderr := command(t, args...)
		if status != exitFailed || stdout != "" || !strings.Contains(stderr, held.Addr().String()) ||
			!strings.Contains(stderr, "in use") {
			t.Errorf("%s: status %d, stdout %q, stderr:\n%s", flag, status, stdout, stderr)
		}
		lines := strings.Split(strings.TrimSpace(stderr), "\n")
		if last := lines[len(lines)-1]; strings.Count(last, strings.TrimPrefix(flag, "--")) != 1 {
			t.Errorf("%s is not named once: %s", flag, last)
		}
	}
}

func TestProcessUsage(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"agent --colour", "next", "dance"} {
		if status, stdout, stderr := command(t, strings.Fields(args)...); status != exitUsage || stdout != "" ||
			!strings.HasPrefix(stderr, "snowgrid: ") {
			t.Errorf("%s: status %d, stdout %q, stderr %q", args, status, stdout, stderr)
		}
	}
}

func TestNextWithoutGrid(t *testing.T) {
	t.Parallel()
	// A listener that never answers.
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	addr := silent.Addr().String()
	p := start(t, func(io.Reader) {}, "next", "orders", "--addr", addr, "--timeout", "10m")
	for range 2 { // it tries again
		conn, err := silent.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	waits := `no logical node of sequencer "orders" yet from ` + addr + "; waiting at most 10m0s (--timeout)\n"
	await(t, "a line that next waits", func() bool { return strings.HasSuffix(p.stderr.String(), waits) })
	p.signal(os.Interrupt)
	if status := p.exit(); status != exitFailed || !strings.Contains(p.stderr.String(), "no member answered at "+addr) {
		t.Errorf("status %d, stderr %q", status, p.stderr.String())
	}

	// No listener; the time limit ends the call.
	_ = silent.Close()
	status, stdout, stderr := command(t, "next", "orders", "--addr", addr, "--timeout", "300ms")
	if status != exitFailed || stdout != "" || !strings.Contains(stderr, "no member answered at "+addr) ||
		!strings.Contains(stderr, "refused") || strings.Contains(stderr, "waiting") {
		t.Errorf("status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
}

func TestDemoProcess(t *testing.T) {
	long.NotShort(t, "it keeps the processors busy for three seconds")
	t.Parallel()
	status, stdout, stderr := command(t, "demo", "--plain", "--for", "3s")
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if len(lines) < 6 {
		t.Fatalf("status %d, stderr %q, stdout:\n%s", status, stderr, stdout)
	}
	end := lines[len(lines)-6:] // three IDs, the summary, the longest call, commands
	for i, name := range demoNames {
		if !strings.HasPrefix(end[i], "An ID of "+name+": ") {
			t.Errorf("no ID of %s: %q", name, end[i])
		}
	}
	last := end[3]
	if !strings.Contains(end[4], "The longest call waited") || !strings.HasPrefix(end[5], "Try next: snowgrid agent ") {
		t.Errorf("the last lines are %q", end[4:])
	}
	if status != exitDone || stderr != "" || !strings.Contains(last, " 0 duplicates, 0 out of order, ") ||
		strings.HasPrefix(last, "0 IDs") {
		t.Errorf("status %d, stderr %q, stdout:\n%s", status, stderr, stdout)
	}
	if strings.ContainsAny(stdout, "\x1b\r") {
		t.Error("plain output has control sequences")
	}
}
