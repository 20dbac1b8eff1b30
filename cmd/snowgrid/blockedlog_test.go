//go:build unix

package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/loopback"
)

// fullPipe is a pipe that is not read.
type fullPipe struct{ opened chan struct{} }

func (p fullPipe) Write(b []byte) (int, error) { <-p.opened; return len(b), nil }

// builder is a log that is read while it is written.
type builder struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *builder) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// startRun runs an agent alone in this process, and returns its API, what ends it, and its exit status.
func startRun(t *testing.T, to streams, args ...string) (api string, end context.CancelFunc, status <-chan int) {
	t.Helper()
	addrs, err := loopback.FreeAddrs(3)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done, dir := make(chan int, 1), t.TempDir()
	go func() {
		done <- run(ctx, append([]string{"agent", "--expect", "1", "--gossip-addr", addrs[0], "--raft-addr", addrs[1],
			"--api-addr", addrs[2], "--data-dir", dir}, args...), to)
	}()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if res, err := http.Get("http://" + addrs[2] + "/readyz"); err == nil { //nolint:noctx // loopback
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return addrs[2], cancel, done
			}
		}
		if time.Since(began) > 20*time.Second {
			t.Fatal("the agent is not ready")
		}
	}
}

// endsWith checks the exit status of an agent that was told to end.
func endsWith(t *testing.T, status <-chan int, want int) {
	t.Helper()
	select {
	case got := <-status:
		if got != want {
			t.Errorf("exit status %d, want %d", got, want)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the agent did not end")
	}
}

// TestAgentWithAFullPipe: an agent whose stdout and stderr are not read starts, and ends on its signal.
func TestAgentWithAFullPipe(t *testing.T) {
	t.Parallel()
	pipe := fullPipe{make(chan struct{})}
	defer close(pipe.opened)
	_, end, status := startRun(t, streams{out: pipe, err: pipe})
	end()
	endsWith(t, status, exitDone)
}

// laterFull is a pipe that is read until it is full.
type laterFull struct {
	full    *atomic.Bool
	blocked *atomic.Int32 // writes
	opened  chan struct{}
}

func (p laterFull) Write(b []byte) (int, error) {
	if p.full.Load() {
		p.blocked.Add(1)
		<-p.opened
	}
	return len(b), nil
}

// TestAgentWhosePipeFills: an agent whose stdout and stderr are read no longer stays ready, issues IDs, and
// ends on its signal.
func TestAgentWhosePipeFills(t *testing.T) {
	t.Parallel()
	pipe := laterFull{&atomic.Bool{}, &atomic.Int32{}, make(chan struct{})}
	defer close(pipe.opened)
	api, end, status := startRun(t, streams{out: pipe, err: pipe}, "--log-level", "debug")
	pipe.full.Store(true)
	for i := range 20 {
		body := strings.NewReader(fmt.Sprintf(`{"name":"orders-%d","n":3,"create":{}}`, i))
		res, err := http.Post("http://"+api+"/v1/ids", "application/json", body) //nolint:noctx // loopback
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Errorf("no IDs: %s", res.Status)
		}
	}
	if pipe.blocked.Load() == 0 {
		t.Error("no line was written")
	}
	if code, body := fetch(t, "http://"+api+"/readyz"); code != http.StatusOK {
		t.Errorf("it is not ready: %d %s", code, body)
	}
	end()
	endsWith(t, status, exitDone)
}

// TestAgentUnsubscribedAndSignalled: an agent that leaves by request, and gets a signal meanwhile or after
// it, ends with status 0.
func TestAgentUnsubscribedAndSignalled(t *testing.T) {
	t.Parallel()
	for _, pause := range []time.Duration{0, 50 * time.Millisecond} {
		log := &builder{}
		api, end, status := startRun(t, streams{out: log, err: log})
		res, err := http.Post("http://"+api+"/membership/unsubscribe", "application/json", nil) //nolint:noctx // loopback
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		time.Sleep(pause)
		end()
		endsWith(t, status, exitDone)
	}
}
