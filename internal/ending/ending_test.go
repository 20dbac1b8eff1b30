//go:build unix

package ending

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestMain is the process that is signalled if ONE says how long signals count as one.
func TestMain(m *testing.M) {
	one, err := time.ParseDuration(os.Getenv("ONE"))
	if err != nil {
		os.Exit(m.Run())
	}
	ctx := untilSignal(one)
	fmt.Println("runs")
	<-ctx.Done()
	fmt.Println("leaves")
	_, _ = io.Copy(io.Discard, os.Stdin) // its end is the end of all that is left to do
}

// leaving starts the process, and signals it once. It returns the process and what it waits for.
func leaving(t *testing.T, one time.Duration) (*exec.Cmd, io.Closer) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "ONE="+one.String())
	work, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for _, want := range []string{"runs\n", "leaves\n"} {
		if line, err := lines.ReadString('\n'); line != want {
			t.Fatalf("it prints %q, %v; want %q", line, err, want)
		}
		if want == "runs\n" {
			_ = cmd.Process.Signal(syscall.SIGTERM)
		}
	}
	return cmd, work
}

// TestSignalsToGroupAndProcess: signals that come together are one, and the process ends in order.
func TestSignalsToGroupAndProcess(t *testing.T) {
	t.Parallel()
	cmd, work := leaving(t, time.Hour)
	for _, s := range []os.Signal{syscall.SIGTERM, os.Interrupt, syscall.SIGTERM} {
		_ = cmd.Process.Signal(s)
	}
	_ = work.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestLaterSignal: a later signal ends the process before its work is done.
func TestLaterSignal(t *testing.T) {
	t.Parallel()
	cmd, _ := leaving(t, time.Millisecond)
	end := make(chan error, 1)
	go func() { end <- cmd.Wait() }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = cmd.Process.Signal(syscall.SIGTERM)
		case <-end:
			if s, is := cmd.ProcessState.Sys().(syscall.WaitStatus); !is || s.Signal() != syscall.SIGTERM {
				t.Errorf("it ended: %v", cmd.ProcessState)
			}
			return
		}
	}
}
