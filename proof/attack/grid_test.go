//go:build linux

package attack_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/internal/loopback"
)

// agent is a member as a process.
type agent struct {
	cmd               *exec.Cmd
	gossip, raft, api string
	log               bytes.Buffer
}

// startAgents forms a secured grid of n agents, and returns them with the security files.
func startAgents(t *testing.T, n int) (all []*agent, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "security")
	if err := authority.Create(dir, authority.Options{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "snowgrid")
	build := exec.CommandContext(t.Context(), "go", "build", "-C", "../..", "-o", binary, "./cmd/snowgrid")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	ports := freePorts(t, 3*n)
	for i := range n {
		all = append(all, &agent{gossip: ports[3*i], raft: ports[3*i+1], api: ports[3*i+2]})
	}
	for _, a := range all {
		//nolint:gosec // it was built above
		cmd := exec.Command(binary, "agent", "--expect", strconv.Itoa(n), "--join", all[0].gossip+","+all[n-1].gossip,
			"--gossip-addr", a.gossip, "--raft-addr", a.raft, "--api-addr", a.api, "--data-dir", t.TempDir(), "--log-level",
			"error", "--security-dir", dir)
		a.cmd = processorsOf(cmd, ours)
		a.cmd.Stdout, a.cmd.Stderr = &a.log, &a.log
		if err := a.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = a.cmd.Process.Kill()
			_ = a.cmd.Wait()
			if t.Failed() {
				t.Logf("%s said: %.2000s", a.api, a.log.String())
			}
		})
	}
	return all, dir
}

// freePorts returns addresses on loopback that nothing listens on.
func freePorts(t *testing.T, n int) []string {
	t.Helper()
	addrs, err := loopback.FreeAddrs(n)
	if err != nil {
		t.Fatal(err)
	}
	return addrs
}

// resident returns the most memory of an agent, in MB.
func resident(agents []*agent) (mb int) {
	for _, a := range agents {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", a.cmd.Process.Pid))
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			pages, _ := strconv.Atoi(fields[1])
			mb = max(mb, pages*os.Getpagesize()>>20)
		}
	}
	return mb
}

// tick is the unit of times in /proc, whatever the kernel's.
const tick = time.Second / 100

// used returns the processor time that the agents have had.
func used(agents []*agent) (all time.Duration) {
	for _, a := range agents {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", a.cmd.Process.Pid))
		_, rest, _ := strings.Cut(string(text), ") ") // the name of the program
		if fields := strings.Fields(rest); len(fields) > 12 {
			user, _ := strconv.Atoi(fields[11])
			system, _ := strconv.Atoi(fields[12])
			all += time.Duration(user+system) * tick
		}
	}
	return all
}
