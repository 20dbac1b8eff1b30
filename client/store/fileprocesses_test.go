package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const countEnv = "SNOWGRID_TEST_COUNT_IN"

// init makes the test binary the process that TestFileProcesses starts and kills.
func init() {
	if dir := os.Getenv(countEnv); dir != "" {
		countIn(dir)
	}
}

// countIn increments a number in a store until the process is killed, and prints each
// number that it has surely written.
func countIn(dir string) {
	f, err := OpenFile(dir)
	for err == nil {
		var e Entry
		if e, err = f.Load(context.Background(), "count"); err != nil {
			break
		}
		n, _ := strconv.Atoi(string(e.Body)) // Damage shows as a step back.
		e.Body = []byte(strconv.Itoa(n + 1))
		if _, err = f.Swap(context.Background(), e); err == nil {
			fmt.Println(n + 1)
		}
		if errors.Is(err, ErrChanged) {
			err = nil
		}
	}
	fmt.Println("failed:", err)
	os.Exit(1)
}

// firstLine collects the output of a process. came is closed when its first bytes have arrived.
type firstLine struct {
	text bytes.Buffer // not embedded: its ReadFrom would be called in place of Write
	came chan struct{}
}

func (f *firstLine) Write(p []byte) (int, error) {
	if f.text.Len() == 0 {
		close(f.came)
	}
	return f.text.Write(p)
}

// TestFileProcesses: processes that are killed at any point write each number once, and
// leave a store that works.
func TestFileProcesses(t *testing.T) {
	dir := t.TempDir()
	f := openFile(t, dir)
	if _, err := f.Swap(t.Context(), Entry{Key: "count", Body: []byte("0")}); err != nil {
		t.Fatal(err)
	}
	var (
		mu      sync.Mutex
		written = map[string]int{}
		highest int
		wg      sync.WaitGroup
	)
	for worker := range 4 {
		wg.Go(func() {
			for round := range 5 {
				out := firstLine{came: make(chan struct{})}
				cmd := exec.Command(os.Args[0])
				cmd.Env, cmd.Stdout = append(os.Environ(), countEnv+"="+dir), &out
				if err := cmd.Start(); err != nil {
					t.Error(err)
					return
				}
				select {
				case <-out.came:
				case <-time.After(time.Minute):
					t.Error("a process has written nothing for a minute")
				}
				time.Sleep(time.Duration(37*worker+23*round) * time.Millisecond)
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
				mu.Lock()
				for line := range strings.Lines(out.text.String()) {
					n, err := strconv.Atoi(strings.TrimSpace(line))
					if err != nil && strings.HasSuffix(line, "\n") {
						t.Error(line)
					}
					written[strings.TrimSpace(line)]++
					highest = max(highest, n)
				}
				mu.Unlock()
			}
		})
	}
	killed := make(chan struct{})
	var reads int
	go func() {
		defer close(killed)
		wg.Wait()
	}()
	for running := true; running; reads++ {
		e, err := f.Load(t.Context(), "count")
		if _, is := strconv.Atoi(string(e.Body)); err != nil || is != nil {
			t.Errorf("between writes there is %q, %v", e.Body, err)
		}
		select {
		case <-killed:
			running = false
		default:
		}
	}
	for line, times := range written {
		if times > 1 {
			t.Errorf("%s was written %d times", line, times)
		}
	}
	e, err := openFile(t, dir).Load(t.Context(), "count")
	if err != nil {
		t.Fatal(err)
	}
	last, _ := strconv.Atoi(string(e.Body))
	if last < highest || highest < 20 {
		t.Errorf("the count is %q, %d was written", e.Body, highest)
	}
	t.Logf("%d increments of 20 processes that were killed, %d reads", last, reads)
}
