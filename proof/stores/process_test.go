package stores

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/faultproxy"
	"github.com/snowgrid/snowgrid/proof/chaos/history"
)

// programs is the directory of the compiled holder, "" before it is compiled.
var programs string

// program compiles the holder once and returns its path.
var program = sync.OnceValues(func() (path string, err error) {
	if programs, err = os.MkdirTemp("", "snowgrid-holder"); err != nil {
		return "", err
	}
	path = filepath.Join(programs, "holder")
	return path, build("-o", path)
})

// build compiles the holder.
func build(flags ...string) error {
	out, err := exec.Command("go", append(append([]string{"build"}, flags...), "./holder")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build ./holder: %w\n%s", err, out)
	}
	return nil
}

func TestMain(m *testing.M) {
	status := m.Run()
	if programs != "" {
		_ = os.RemoveAll(programs)
	}
	os.Exit(status)
}

// holder is a place for one holder process after the other, with its way to the store.
type holder struct {
	t     *testing.T
	name  string
	proxy *faultproxy.Proxy // nil for a store in a directory
	args  []string
	dir   string
	path  string // of the program; "" = the holder

	starts  int
	cmd     *exec.Cmd
	ended   chan struct{}
	stopped bool // by SIGSTOP

	mu      sync.Mutex
	lines   []string // of the present process
	changed chan struct{}
	meant   bool // the test ends the process
}

// newHolder makes a place; nothing runs in it yet.
func (s *site) newHolder(name string, args ...string) *holder {
	s.t.Helper()
	proxy, url := s.way()
	h := &holder{t: s.t, name: name, proxy: proxy, dir: s.t.TempDir(), changed: make(chan struct{})}
	h.args = append([]string{"-store", url, "-task", name}, args...)
	s.t.Cleanup(h.kill)
	return h
}

// start starts a process in the place.
func (h *holder) start() {
	h.t.Helper()
	path, err := program()
	if err != nil {
		h.t.Fatal(err)
	}
	path = cmp.Or(h.path, path)
	h.starts++
	//nolint:gosec // the program of this package
	h.cmd = exec.Command(path, append(h.args, "-history", h.file("history"))...)
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log, err := os.Create(h.file("log"))
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	h.cmd.Stderr = log
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	h.ended, h.stopped = make(chan struct{}), false
	h.set(func() { h.lines, h.meant = nil, false })
	if err := h.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	go h.follow(h.cmd, bufio.NewScanner(out), h.file("log"), h.ended)
}

// follow reads a process's lines until it ends.
func (h *holder) follow(cmd *exec.Cmd, lines *bufio.Scanner, log string, ended chan struct{}) {
	for lines.Scan() {
		h.set(func() { h.lines = append(h.lines, lines.Text()) })
	}
	err := cmd.Wait()
	h.mu.Lock()
	meant, said := h.meant, strings.Join(h.lines, "\n")
	h.mu.Unlock()
	if !meant {
		h.t.Errorf("%s ended by itself: %v; it printed:\n%s\nits log ends:\n%s", h.name, err, said, tail(log))
	}
	close(ended)
}

func (h *holder) set(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
	close(h.changed)
	h.changed = make(chan struct{})
}

// file is a file of the present process.
func (h *holder) file(name string) string {
	return filepath.Join(h.dir, fmt.Sprintf("%s.%d", name, h.starts))
}

// said returns the lines that the present process printed.
func (h *holder) said() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.lines...)
}

// nodes returns the logical nodes that the present process had, in order.
func (h *holder) nodes() (nodes []int) {
	for _, line := range h.said() {
		if text, ok := strings.CutPrefix(line, "attached "); ok {
			n, err := strconv.Atoi(text)
			if err != nil {
				h.t.Fatal(err)
			}
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// await waits until the lines of the process are as wanted, or fails the test.
func (h *holder) await(what string, within time.Duration, wanted func([]string) bool) {
	h.t.Helper()
	deadline := time.After(within)
	for {
		h.mu.Lock()
		lines, changed := h.lines, h.changed
		h.mu.Unlock()
		if wanted(lines) {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			h.t.Fatalf("%s: no %s within %v; it printed:\n%s\nits log ends:\n%s", h.name, what, within,
				strings.Join(lines, "\n"), tail(h.file("log")))
		}
	}
}

// awaitNode waits until the process has had a number of logical nodes.
func (h *holder) awaitNode(count int, within time.Duration) {
	h.t.Helper()
	h.await(fmt.Sprintf("logical node number %d", count), within, func([]string) bool { return len(h.nodes()) >= count })
}

// signal sends a signal; SIGSTOP and SIGCONT are kept in mind.
func (h *holder) signal(s syscall.Signal) {
	h.t.Helper()
	if err := h.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		h.t.Fatal(err)
	}
	switch s {
	case syscall.SIGSTOP:
		h.stopped = true
	case syscall.SIGCONT:
		h.stopped = false
	}
}

// kill ends the process with SIGKILL and waits for its end.
func (h *holder) kill() {
	if h.cmd == nil || h.cmd.Process == nil {
		return
	}
	h.set(func() { h.meant = true })
	_ = h.cmd.Process.Kill()
	<-h.ended
}

// finish sends SIGTERM and waits for the end. An error: the process ended with another
// status than 0, or not in time.
func (h *holder) finish(ctx context.Context) error {
	h.set(func() { h.meant = true })
	h.signal(syscall.SIGTERM)
	select {
	case <-h.ended:
	case <-ctx.Done():
		return fmt.Errorf("%s does not end: %w", h.name, ctx.Err())
	}
	if !h.cmd.ProcessState.Success() {
		return fmt.Errorf("%s: %v; it printed:\n%s\nits log ends:\n%s", h.name, h.cmd.ProcessState,
			strings.Join(h.said(), "\n"), tail(h.file("log")))
	}
	return nil
}

// runs reads the IDs of every process of the place, in order.
func (h *holder) runs() (all [][]history.Run) {
	h.t.Helper()
	for start := 1; start <= h.starts; start++ {
		file, err := os.Open(filepath.Join(h.dir, fmt.Sprintf("history.%d", start)))
		if errors.Is(err, os.ErrNotExist) {
			continue // killed before it came that far
		}
		if err != nil {
			h.t.Fatal(err)
		}
		ops, err := history.Read(file)
		_ = file.Close()
		if err != nil {
			h.t.Fatalf("%s: %v", file.Name(), err)
		}
		var runs []history.Run
		for _, op := range ops {
			runs = append(runs, op.Runs...)
		}
		all = append(all, runs)
	}
	return all
}

// tail is the end of a file.
func tail(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return strings.ToValidUTF8(string(text[max(0, len(text)-2000):]), "?")
}
