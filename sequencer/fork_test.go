//go:build linux && amd64

package sequencer

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment/bridge"
)

// TestForkIssuesNothing: the child of a fork without exec has the handle of its parent, and
// would issue the same IDs. The fork is made in a process of its own, since a child of Go's
// runtime has one thread and no more.
func TestForkIssuesNothing(t *testing.T) {
	const variable = "SNOWGRID_TEST_FORK"
	if os.Getenv(variable) != "" {
		forkAndCount(t)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestForkIssuesNothing$", "-test.timeout", "20s")
	cmd.Env = append(os.Environ(), variable+"=1", "GODEBUG=asyncpreemptoff=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "the child issued 0 IDs") {
		t.Errorf("%v: %s", err, out)
	}
}

// forkAndCount forks, and has the child end with the number of its IDs as its status.
func forkAndCount(t *testing.T) {
	def, err := Define("orders", Config{Epoch: -1_000_000_000_000})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := newSequencer(def, bridge.Life{1}, &fakeBackend{grant: bridge.Grant{From: 0, Until: 1 << 41}},
		hastyClock{started: time.Now()})
	if err := s.AttachLogicalNode(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if _, err := s.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s.now.Load().gen.saturated.Store(true) // then most calls ask no clock
	debug.SetGCPercent(-1)
	runtime.LockOSThread()
	// A child that the runtime stops, by a lock that another thread held at the fork, shows nothing.
	status, ended := forkedStatus(t, s)
	for range 9 {
		if ended {
			break
		}
		status, ended = forkedStatus(t, s)
	}
	if !ended {
		t.Fatal("none of 10 children ended within 2 s")
	}
	if _, err := s.Next(t.Context()); err != nil {
		t.Errorf("the parent: %v", err)
	}
	os.Stdout.WriteString("the child issued " + itoa(status) + " IDs\n")
}

// forkedStatus forks a child that counts its IDs, and returns its status. A child that takes more
// than 2 s is killed.
func forkedStatus(t *testing.T, s *Sequencer) (status int, ended bool) {
	ids := make([]ID, 50)
	pid, _, errno := syscall.RawSyscall(syscall.SYS_FORK, 0, 0, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	if pid == 0 {
		issued := 0
		for range 50 {
			if _, err := s.Next(t.Context()); err == nil || !errors.Is(err, ErrClosed) {
				issued++
			}
		}
		if n, _ := s.Fill(t.Context(), ids); n > 0 {
			issued += n
		}
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, uintptr(issued), 0, 0)
	}
	kill := time.AfterFunc(2*time.Second, func() { _ = syscall.Kill(int(pid), syscall.SIGKILL) })
	defer kill.Stop()
	var result syscall.WaitStatus
	if _, err := syscall.Wait4(int(pid), &result, 0, nil); err != nil {
		t.Fatal(err)
	}
	return result.ExitStatus(), result.Exited()
}

func itoa(n int) string { return ID(n).String() }
