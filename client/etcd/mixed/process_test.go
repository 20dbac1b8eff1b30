package mixed_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/snowgrid/snowgrid/client/etcd/internal/etcdtest"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/sequencer"
)

// workVar has the work of a process that this test binary is started as.
const workVar = "ETCD_TEST_WORK"

// work is the main function of a process: it takes a node of a sequencer, tells its number, and issues
// IDs into a file until its input ends.
type work struct {
	Addr, Prefix, Name, File string
	Mixed                    bool // the kind of the store
	Pool                     int
	Window, Pause            time.Duration // Pause 0: a tight loop
}

// beProcess does the work, and returns the exit code.
func beProcess(text string) int {
	var w work
	err := json.Unmarshal([]byte(text), &w)
	if err == nil {
		err = w.do()
	}
	if err != nil {
		fmt.Println("failed", err)
		return 1
	}
	return 0
}

func (w work) do() error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	cli, err := clientv3.New(clientv3.Config{Endpoints: []string{w.Addr}, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	k := etcdtest.Plain
	if w.Mixed {
		k = mixedStore
	}
	c, err := store.Open(ctx, k.Open(cli, w.Prefix),
		store.Config{Pool: w.Pool, Window: w.Window, AcquireMaxDelay: time.Second})
	if err != nil {
		return err
	}
	h, err := c.CreateSequencer(ctx, w.Name, sequencer.Config{})
	if err != nil {
		return err
	}
	file, err := os.Create(w.File)
	if err != nil {
		return err
	}
	err = w.issue(ctx, h, file)
	leaving, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return errors.Join(err, c.Leave(leaving), file.Close())
}

// issue issues IDs until ctx ends, and tells of each node that it gets and of each wait.
func (w work) issue(ctx context.Context, h *sequencer.Sequencer, file io.Writer) error {
	out := bufio.NewWriterSize(file, 1<<16)
	last, said := -1, time.Now()
	for ctx.Err() == nil {
		call, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		id, err := h.Next(call)
		cancel()
		if err != nil {
			if time.Since(said) > 100*time.Millisecond && ctx.Err() == nil {
				said = time.Now()
				fmt.Println("waits", err)
			}
			continue
		}
		if err := binary.Write(out, binary.LittleEndian, uint64(id)); err != nil { //nolint:gosec // the bits
			return err
		}
		if node := int(h.Definition().Decompose(id).Node); node != last {
			last = node
			fmt.Println("node", node)
		}
		if w.Pause > 0 {
			if err := out.Flush(); err != nil { // it may be killed
				return err
			}
			time.Sleep(w.Pause)
		}
	}
	return out.Flush()
}

// process is a running work.
type process struct {
	t    *testing.T
	work work
	cmd  *exec.Cmd
	in   io.Closer

	mu    sync.Mutex
	lines []string
	ended chan struct{}
}

func (w work) start(t *testing.T) *process {
	t.Helper()
	text, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, work: w, cmd: exec.Command(os.Args[0]), ended: make(chan struct{})} //nolint:gosec // this binary
	p.cmd.Env = append(os.Environ(), workVar+"="+string(text))
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.mu.Lock()
			p.lines = append(p.lines, lines.Text())
			p.mu.Unlock()
		}
	}()
	t.Cleanup(func() { p.kill() })
	return p
}

// node returns the node that the process told of last, false if none.
func (p *process) node() (int, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.lines) - 1; i >= 0; i-- {
		if text, is := strings.CutPrefix(p.lines[i], "node "); is {
			n, err := strconv.Atoi(text)
			return n, err == nil
		}
	}
	return 0, false
}

// said reports whether the process wrote a line with a beginning after the first lines.
func (p *process) said(beginning string, after int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.lines[min(after, len(p.lines)):] {
		if strings.HasPrefix(line, beginning) {
			return true
		}
	}
	return false
}

// saidSoFar returns how many lines the process wrote.
func (p *process) saidSoFar() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.lines)
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// kill ends the process with SIGKILL.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
	_ = p.cmd.Wait()
}

// leave lets the process return its node and end.
func (p *process) leave() {
	p.t.Helper()
	_ = p.in.Close()
	<-p.ended
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("%v: %q", err, p.lines)
	}
}

// allDiffer fails if an ID is in the files of processes more than once, and returns how many
// IDs there are.
func allDiffer(t *testing.T, all []*process) int {
	t.Helper()
	seen := map[uint64]int{}
	for i, p := range all {
		text, err := os.ReadFile(p.work.File)
		if errors.Is(err, os.ErrNotExist) {
			continue // it had no node
		}
		if err != nil {
			t.Fatal(err)
		}
		for ; len(text) >= 8; text = text[8:] {
			id := binary.LittleEndian.Uint64(text)
			if other, is := seen[id]; is {
				t.Fatalf("processes %d and %d issued the ID %d", other, i, id)
			}
			seen[id] = i
		}
	}
	return len(seen)
}

// workers starts processes of one sequencer.
func workers(t *testing.T, k etcdtest.Kind, count, pool int, window, pause time.Duration) []*process {
	t.Helper()
	dir, prefix := t.TempDir(), etcdtest.Prefix(t)
	all := make([]*process, count)
	for i := range all {
		all[i] = work{
			Addr: etcdtest.Shared(t).Addr, Prefix: prefix, Name: "default", Pool: pool, Window: window, Pause: pause,
			Mixed: k.Name == mixedStore.Name, File: filepath.Join(dir, strconv.Itoa(i)),
		}.start(t)
	}
	return all
}

// holders returns the processes that have a node, by node. Two with one node fail the test.
func holders(t *testing.T, all []*process) map[int]*process {
	t.Helper()
	byNode := map[int]*process{}
	for _, p := range all {
		if n, has := p.node(); has {
			if byNode[n] != nil {
				t.Fatalf("two processes have node %d", n)
			}
			byNode[n] = p
		}
	}
	return byNode
}
