//go:build unix

package overload_test

import (
	"bytes"
	"flag"
	"fmt"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/loopback"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	clients  = flag.Int("clients", 40, "clients of TestPausedMembers, each with three handles")
	pauseFor = flag.Duration("pause-for", 6*time.Second, "how long members get little time there")
	stopped  = flag.Duration("stopped", 2*time.Second, "how long they stand still each time")
	running  = flag.Duration("running", 120*time.Millisecond, "how long they run in between")
)

// TestPausedMembers runs agents as processes that all get a small share of the time, as on
// overloaded machines.
func TestPausedMembers(t *testing.T) {
	long.Only(t, "it stops and resumes agents for half a minute")
	u := &users{secured: credentials(t)}
	members := startAgents(t, 3, u.secured)
	var addrs []string
	for _, m := range members {
		addrs = append(addrs, m.api)
	}
	u.add(t, *clients, addrs,
		func(int) dialer { return calls.TCP },
		func(i int) []string {
			return []string{fmt.Sprint("a", i%100), fmt.Sprint("b", i%100), fmt.Sprint("c", i%100)}
		})
	time.Sleep(*window)
	before := u.watch(t, "calm", *window/2, *window/2)
	t.Logf("members' memory: %v MB", resident(t, members))

	signal := func(s os.Signal) {
		for _, m := range members {
			if err := m.cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	most := before
	for began := time.Now(); time.Since(began) < *pauseFor; {
		signal(syscall.SIGSTOP)
		now := u.watch(t, "stopped", *stopped, *stopped)
		most.goroutines = max(most.goroutines, now.goroutines)
		signal(syscall.SIGCONT)
		time.Sleep(*running)
	}
	ended := u.state()
	t.Logf("at the end %d of %d handles issue IDs; members' memory: %v MB", u.issuing(t), len(u.handles),
		resident(t, members))
	took := u.awaitAll(t, time.Duration(*within)*(*window))
	after := u.watch(t, "after", *window/2, *window/2)
	t.Logf("all %d handles issue IDs %v after the end; %d dials in the overload, %d until the end; members' memory: %v MB",
		len(u.handles), took, ended.dials-before.dials, after.dials-before.dials, resident(t, members))

	// A connection lives through the pauses. A client opens one to each member that it asks for
	// the directory, and few again.
	if n := ended.dials - before.dials; n > int64(2*len(u.clients))*int64(1+*pauseFor/(2*time.Minute)) {
		t.Errorf("%d dials of %d clients in the overload", n, len(u.clients))
	}
	// A goroutine reads each end of a connection, of which a client has one to a member, and few are its own.
	if most.goroutines > 20*len(u.clients)+1000 {
		t.Errorf("%d goroutines of %d clients in the overload, %d before", most.goroutines, len(u.clients), before.goroutines)
	}
}

// agent is one process of the command line.
type agent struct {
	cmd *exec.Cmd
	api string
	ops string // address of its metrics
	log bytes.Buffer
}

// startAgents forms a grid of n agents.
func startAgents(t *testing.T, n int, secured string) (all []*agent) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "snowgrid")
	build := exec.CommandContext(t.Context(), "go", "build", "-C", "../..", "-o", binary, "./cmd/snowgrid")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	ports := freePorts(t, 4*n)
	var join []string
	for i := range n {
		join = append(join, ports[4*i])
	}
	for i := range n {
		a := &agent{api: ports[4*i+2], ops: ports[4*i+3]}
		//nolint:gosec // it was built above
		a.cmd = exec.Command(binary, "agent", "--expect", strconv.Itoa(n), "--join", strings.Join(join, ","),
			"--gossip-addr", ports[4*i], "--raft-addr", ports[4*i+1], "--api-addr", a.api, "--ops-addr", a.ops, "--data-dir",
			t.TempDir(), "--log-level", "warn", "--pprof", "--window", window.String())
		if secured != "" {
			a.cmd.Args = append(a.cmd.Args, "--security-dir", secured)
		}
		a.cmd.Stdout, a.cmd.Stderr = &a.log, &a.log
		if err := a.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
		t.Cleanup(func() {
			_ = a.cmd.Process.Kill()
			_ = a.cmd.Wait()
			if t.Failed() {
				t.Logf("%s said: %s", a.api, a.log.String())
			}
		})
	}
	return all
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

// resident returns the memory of processes in MB, 0 where the system does not tell.
func resident(t *testing.T, agents []*agent) (mb []int) {
	t.Helper()
	for _, a := range agents {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", a.cmd.Process.Pid))
		pages := 0
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			pages, _ = strconv.Atoi(fields[1])
		}
		mb = append(mb, pages*os.Getpagesize()>>20)
	}
	return mb
}
