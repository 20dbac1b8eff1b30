//go:build linux

package languages

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

var (
	idsEach = flag.Int("ids", 1_000_000, "IDs of each process")
	seconds = flag.Int("seconds", 90, "time over which each process spreads them")
)

// window is that of the grid. A client is paused for three.
const window = 5 * time.Second

// TestLanguages: no two IDs of five languages are equal, and each process's ascend.
func TestLanguages(t *testing.T) {
	long.Only(t, "it takes two minutes, and the tools of four languages")
	g := startGrid(t)
	programs := programsOf(t, g, "steady", 8)
	if len(programs) == 0 {
		t.Fatal("the tools of no language are installed")
	}
	var running sync.WaitGroup
	files, least := []string{}, []int{}
	var delayed atomic.Int64
	relays := g.relays(t, &delayed)
	for _, p := range programs {
		p.start(t, g, relays, *idsEach, *seconds)
		files, least = append(files, p.out), append(least, *idsEach)
		for i := range p.forks {
			files, least = append(files, fmt.Sprintf("%s-%d", p.out, i)), append(least, *idsEach/p.forks)
		}
		running.Go(p.wait)
	}
	for i := range 2 {
		out := filepath.Join(g.dir, fmt.Sprint("go-", i))
		files, least = append(files, out), append(least, *idsEach)
		c, err := client.Dial(t.Context(), client.Config{Addrs: g.addrs(), Security: &security.Config{Dir: g.security}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		running.Go(func() { issue(t, c, out) })
	}
	ended := make(chan struct{})
	go func() { running.Wait(); close(ended) }()
	faults := g.disturb(t, programs, ended)
	for _, p := range programs {
		if p.err != nil {
			t.Errorf("%s: %v: %s", p.name, p.err, p.said.String())
		}
	}
	counts := check(t, files)
	for i, file := range files {
		t.Logf("%-12s %9d IDs", filepath.Base(file), counts[i])
		if counts[i] < least[i] {
			t.Errorf("%s has %d IDs, want %d", filepath.Base(file), counts[i], least[i])
		}
	}
	t.Logf("%s, %d delays of replies", faults, delayed.Load())
}

// issue makes IDs by a Go client, spread over the time, and writes them.
func issue(t *testing.T, c *client.Client, out string) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	s, err := c.CreateSequencer(ctx, "orders", sequencer.Config{})
	if err != nil {
		t.Error(err)
		return
	}
	file, err := os.Create(out)
	if err != nil {
		t.Error(err)
		return
	}
	w := bufio.NewWriter(file)
	chunk := max(1, *idsEach / *seconds / 20)
	for made := 0; made < *idsEach; {
		for range min(chunk, *idsEach-made) {
			id, err := s.Next(ctx)
			if err != nil {
				t.Error(err)
				return
			}
			_ = binary.Write(w, binary.BigEndian, uint64(id))
			made++
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err := errors.Join(w.Flush(), file.Close()); err != nil {
		t.Error(err)
	}
}

// check reads all files at the same time, in the order of their IDs, and returns how many each has.
func check(t *testing.T, files []string) (counts []int) {
	t.Helper()
	readers, next := make([]*bufio.Reader, len(files)), make([]uint64, len(files))
	counts = make([]int, len(files))
	advance := func(i int) {
		var b [8]byte
		_, err := io.ReadFull(readers[i], b[:])
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Errorf("%s: %v", files[i], err)
			}
			next[i] = 1 << 63
			return
		}
		id := binary.BigEndian.Uint64(b[:])
		if counts[i]++; counts[i] > 1 && id <= next[i] || id >= 1<<63 {
			t.Fatalf("%s: ID %d follows %d", files[i], id, next[i])
		}
		next[i] = id
	}
	for i, name := range files {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		readers[i] = bufio.NewReaderSize(file, 1<<16)
		advance(i)
	}
	for {
		least := 0
		for i := range next {
			if next[i] < next[least] {
				least = i
			}
		}
		if next[least] == 1<<63 {
			return counts
		}
		for i := range next {
			if i != least && next[i] == next[least] {
				t.Fatalf("%s and %s have the ID %d", files[i], files[least], next[i])
			}
		}
		advance(least)
	}
}

// program is a client in another language, as a process.
type program struct {
	name    string
	command []string // its arguments follow
	dir     string
	plain   bool // it has no TLS of its own, and calls by a proxy
	forks   int  // children, which share its IDs
	out     string
	cmd     *exec.Cmd
	said    strings.Builder
	err     error
}

// start starts the program with the arguments that every client's load program takes.
func (p *program) start(t *testing.T, g *grid, addrs []string, ids, seconds int) {
	t.Helper()
	p.out = filepath.Join(g.dir, p.name)
	urls := []string{}
	for _, addr := range addrs {
		urls = append(urls, "https://"+addr)
	}
	if p.plain {
		urls = g.proxies(t, addrs)
	}
	args := append(p.command[1:len(p.command):len(p.command)], "--addrs", strings.Join(urls, ","), "--name", "orders",
		"--ca", filepath.Join(g.security, "ca.crt"), "--token-file", g.token, "--ids", strconv.Itoa(ids),
		"--seconds", strconv.Itoa(seconds), "--out", p.out)
	if p.forks > 0 {
		args = append(args, "--forks", strconv.Itoa(p.forks))
	}
	p.cmd = exec.Command(p.command[0], args...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = p.dir, &p.said, &p.said
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.signal(syscall.SIGKILL) })
}

func (p *program) wait() { p.err = p.cmd.Wait() }

// signal sends a signal to the process and its children.
func (p *program) signal(s syscall.Signal) { _ = syscall.Kill(-p.cmd.Process.Pid, s) }

// pause stops the process for three windows.
func (p *program) pause() {
	p.signal(syscall.SIGSTOP)
	time.Sleep(3 * window)
	p.signal(syscall.SIGCONT)
}

// disturb kills and stops members, and pauses clients, until all have ended.
func (g *grid) disturb(t *testing.T, programs []*program, ended chan struct{}) string {
	t.Helper()
	kills, stops, pauses := 0, 0, 0
	var pausing sync.WaitGroup
	defer pausing.Wait()
	for step := 0; ; step++ {
		select {
		case <-ended:
			return fmt.Sprintf("%d kills and %d stops of members, %d pauses of clients", kills, stops, pauses)
		case <-time.After(4 * time.Second):
		}
		m := g.members[rand.IntN(len(g.members))]
		switch {
		case step%3 == 0:
			m.kill()
			time.Sleep(2 * time.Second)
			m.start(t)
			kills++
		case step%3 == 1:
			_ = m.cmd.Process.Signal(syscall.SIGSTOP)
			time.Sleep(3 * time.Second)
			_ = m.cmd.Process.Signal(syscall.SIGCONT)
			stops++
		case pauses < 2*len(programs):
			p := programs[pauses%len(programs)]
			pauses++
			pausing.Go(p.pause)
		}
	}
}
