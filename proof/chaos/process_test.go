//go:build linux

package chaos

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/proof/chaos/history"
)

// patience bounds every wait for something that should happen soon.
const patience = 60 * time.Second

// process is one member or holder: a place on the network, in which the program is
// started again after its process was killed.
type process struct {
	t       *testing.T
	dir     string
	program string
	args    func(p *process) []string
	*end

	starts int
	cmd    *exec.Cmd
	served chan struct{} // closed when the program printed its first line
	ended  chan struct{} // closed when the process has ended
	wanted sync.Mutex    // guards meant
	meant  bool          // the test ends the process, so its end is expected
	busy   bool          // a fault affects it; used by the faults only
}

// newProcess makes a place; nothing runs in it yet.
func newProcess(t *testing.T, n *network, dir, port, program string, args func(*process) []string) *process {
	t.Helper()
	p := &process{t: t, dir: filepath.Join(dir, port), program: program, args: args, end: n.add(t, port)}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

// file is a file of the place's present start.
func (p *process) file(name string) string {
	return filepath.Join(p.dir, fmt.Sprintf("%s.%d", name, p.starts))
}

// start starts the program in its namespace. The kernel kills it when the test
// process ends without doing so.
func (p *process) start() error {
	p.starts++
	p.setMeant(false)
	p.served, p.ended = make(chan struct{}), make(chan struct{})
	// ip becomes the program, so the process that is started here is the program.
	p.cmd = exec.Command("ip", append([]string{"netns", "exec", p.ns, p.program}, p.args(p)...)...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log, err := os.Create(p.file("log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	p.cmd.Stderr = log
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	go p.follow(p.cmd, stdout, p.file("log"), p.served, p.ended)
	return nil
}

// follow waits for the end of a process that start started.
func (p *process) follow(cmd *exec.Cmd, stdout io.Reader, log string, served, ended chan struct{}) {
	defer close(ended)
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err == nil {
		close(served)
	}
	_, _ = io.Copy(io.Discard, stdout)
	err := cmd.Wait()
	if p.isMeant() {
		return
	}
	p.t.Errorf("%s ended by itself: %v; its log ends:\n%s", p.port, err, tail(log))
}

func (p *process) setMeant(meant bool) {
	p.wanted.Lock()
	defer p.wanted.Unlock()
	p.meant = meant
}

func (p *process) isMeant() bool {
	p.wanted.Lock()
	defer p.wanted.Unlock()
	return p.meant
}

// kill ends the process without a word and waits until it has ended.
func (p *process) kill() {
	if p.cmd == nil || p.cmd.Process == nil {
		return
	}
	p.setMeant(true)
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// signal sends a signal to the process.
func (p *process) signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("%s: signal %v: %w", p.port, s, err)
	}
	return nil
}

// awaitServing waits until a member serves.
func (p *process) awaitServing() {
	p.t.Helper()
	select {
	case <-p.served:
	case <-p.ended:
		p.t.Fatalf("%s ended before it served", p.port)
	case <-time.After(patience):
		p.t.Fatalf("%s does not serve after %v; its log ends:\n%s", p.port, patience, tail(p.file("log")))
	}
}

// finish asks a holder to end and waits until it did. One that was just started is
// let come to the grid first.
func (p *process) finish() error {
	select {
	case <-p.served:
	case <-p.ended:
	case <-time.After(finalPatience):
		return fmt.Errorf("%s does not reach the grid within %v", p.port, finalPatience)
	}
	p.setMeant(true)
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.ended:
	case <-time.After(finalPatience + patience):
		return fmt.Errorf("%s has not ended %v after SIGTERM", p.port, finalPatience+patience)
	}
	if status := p.cmd.ProcessState; !status.Success() {
		return fmt.Errorf("%s: %v; its log ends:\n%s", p.port, status, tail(p.file("log")))
	}
	return nil
}

// tail is the end of a file.
func tail(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return strings.ToValidUTF8(string(text[max(0, len(text)-2000):]), "?")
}

// setShift makes a member's clock wrong by d from now on, and across restarts.
func (p *process) setShift(d time.Duration) error {
	next := filepath.Join(p.dir, "shift.next")
	if err := os.WriteFile(next, fmt.Appendln(nil, d.Milliseconds()), 0o600); err != nil {
		return err
	}
	return os.Rename(next, p.shiftFile())
}

func (p *process) shiftFile() string { return filepath.Join(p.dir, "shift") }

// histories reads the files of a holder, one history per start.
func (p *process) histories() (all [][]history.Op, err error) {
	for start := 1; start <= p.starts; start++ {
		file, err := os.Open(filepath.Join(p.dir, fmt.Sprintf("history.%d", start)))
		if errors.Is(err, os.ErrNotExist) {
			all = append(all, nil) // killed before it came that far
			continue
		}
		if err != nil {
			return nil, err
		}
		ops, err := history.Read(file)
		_ = file.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name(), err)
		}
		all = append(all, ops)
	}
	return all, nil
}
