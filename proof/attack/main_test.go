//go:build linux

package attack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// orderVariable has an attacker's order, in the environment of the process that carries it out.
const orderVariable = "SNOWGRID_TEST_ATTACK"

// order is the task of an attacker.
type order struct {
	Attack      string
	Dir         string // of the security files
	API         []string
	Other       []string // Raft and gossip
	From        string   // own address
	Connections int
	For         time.Duration
	Apart       bool // has processors of its own
}

// TestMain runs the tests, or the attack of a process that one of them started.
func TestMain(m *testing.M) {
	text := os.Getenv(orderVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	if !o.Apart {
		if err := stepBack(); err != nil {
			fmt.Println(err)
			os.Exit(2)
		}
	}
	allowFiles(uint64(o.Connections) + 200)
	ctx, cancel := context.WithTimeout(context.Background(), o.For)
	defer cancel()
	a, err := newAttacker(o)
	if err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	attacks[o.Attack](ctx, a)
	fmt.Printf("%d connections opened, %d refused or ended, %d messages", a.opened.Load(), a.ended.Load(), a.sent.Load())
}

// schedIdle is the scheduling policy of threads that run only while no other thread wants their
// processor (sched(7)).
const schedIdle = 5

// idleVariable says that the threads of this process have schedIdle.
const idleVariable = "SNOWGRID_TEST_IDLE"

// stepBack gives every thread of this process the policy schedIdle: in earnest an attacker has a
// machine of its own, and takes no processor time from members. A thread has the policy of the one that
// started it, so this thread takes it, and begins the program again, which leaves no other thread.
// Setpriority of a process changes one thread alone.
func stepBack() error {
	if os.Getenv(idleVariable) != "" {
		return nil
	}
	runtime.LockOSThread()
	// of this policy always 0
	var priority int32
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETSCHEDULER, 0, schedIdle,
		uintptr(unsafe.Pointer(&priority))); errno != 0 { //nolint:gosec // as sched_setscheduler(2) wants it
		return fmt.Errorf("sched_setscheduler: %w", errno)
	}
	return syscall.Exec("/proc/self/exe", os.Args, append(os.Environ(), idleVariable+"=1")) //nolint:gosec // this program
}

// allowFiles raises the limit of open files to at least n, and reports whether it could.
func allowFiles(n uint64) bool {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return false
	}
	if l.Cur >= n {
		return true
	}
	l.Cur, l.Max = n, max(l.Max, n)
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l) == nil
}

// Processors, with -apart: the first half are the members' and the honest client's, the second
// half the attackers'. So these attack as fast as they can while members are busy.
const (
	ours   = 0
	theirs = 1
)

// processorsOf has a command run on one half of the processors, with -apart.
func processorsOf(cmd *exec.Cmd, half int) *exec.Cmd {
	if *apart {
		n := runtime.NumCPU() / 2
		cmd.Args = append([]string{"taskset", "--cpu-list", fmt.Sprintf("%d-%d", half*n, half*n+n-1), cmd.Path},
			cmd.Args[1:]...)
		cmd.Path, cmd.Err = exec.LookPath("taskset")
	}
	return cmd
}

// stayApart has this process run on the first half of the processors, with -apart.
func stayApart(t *testing.T) {
	if !*apart {
		return
	}
	if runtime.NumCPU() < 2 {
		t.Fatal("-apart needs two processors")
	}
	args := []string{"--all-tasks", "--pid", "--cpu-list", fmt.Sprintf("0-%d", runtime.NumCPU()/2-1),
		strconv.Itoa(os.Getpid())}
	if out, err := exec.CommandContext(t.Context(), "taskset", args...).CombinedOutput(); err != nil {
		t.Fatalf("-apart needs taskset, of util-linux: %v: %s", err, out)
	}
}

// launch starts a process that carries out an order, and returns what it says at its end.
func launch(t *testing.T, o order) (await func() string) {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), o.For+time.Minute)
	cmd := processorsOf(exec.CommandContext(ctx, os.Args[0]), theirs) //nolint:gosec // this program
	cmd.Env = append(os.Environ(), orderVariable+"="+string(text), "GOMAXPROCS=1")
	said := make(chan string, 1)
	go func() {
		defer cancel()
		out, err := cmd.CombinedOutput()
		if err != nil {
			out = fmt.Appendf(out, "; %v", err)
		}
		if s := cmd.ProcessState; s != nil {
			out = fmt.Appendf(out, ", %.1f s", (s.UserTime() + s.SystemTime()).Seconds())
		}
		said <- string(out)
	}()
	return func() string { return <-said }
}
