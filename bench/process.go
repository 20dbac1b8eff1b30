package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// process is a server that this program starts and stops.
type process struct {
	cmd  *exec.Cmd
	said tail
	over chan struct{} // closed when it has ended
}

// patience is the maximum time for a server to start, and to stop by itself.
const (
	startPatience = 60 * time.Second
	endPatience   = 5 * time.Second
)

// startProcess starts a program; its output is kept for the error message.
func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, over: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = &p.said
	}
	cmd.Stderr = &p.said
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = cmd.Wait()
		close(p.over)
	}()
	return p, nil
}

// await calls ready repeatedly until it returns nil. It gives up when the process has ended or time
// is up.
func (p *process) await(ctx context.Context, ready func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		try, end := context.WithTimeout(ctx, time.Second)
		err := ready(try)
		end()
		if err == nil {
			return nil
		}
		select {
		case <-p.over:
			return fmt.Errorf("%s has ended: %v: %s", p.cmd.Path, p.cmd.ProcessState, p.said.text())
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// end signals the process to stop, and kills it if it does not.
func (p *process) end() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.over:
		return
	case <-time.After(endPatience):
	}
	_ = p.cmd.Process.Kill()
	<-p.over
}

// endAll ends processes concurrently.
func endAll(all []*process) {
	var ending sync.WaitGroup
	for _, p := range all {
		ending.Go(p.end)
	}
	ending.Wait()
}

// tail keeps the last bytes written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

const tailBytes = 2000

func (t *tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, text...)
	t.kept = t.kept[max(len(t.kept)-tailBytes, 0):]
	return len(text), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}
