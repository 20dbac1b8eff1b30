package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/loopback"
)

// fullPipe is a pipe that is not read.
type fullPipe struct{ opened chan struct{} }

func (p fullPipe) Write(b []byte) (int, error) { <-p.opened; return len(b), nil }

// TestServeWithAFullPipe: a server whose stdout and stderr are not read gives out IDs, and ends on its signal.
func TestServeWithAFullPipe(t *testing.T) {
	addrs, err := loopback.FreeAddrs(2)
	if err != nil {
		t.Fatal(err)
	}
	pipe := fullPipe{make(chan struct{})}
	defer close(pipe.opened)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	status := make(chan int, 1)
	go func() {
		status <- run(ctx, []string{"serve", "--http-addr", addrs[0], "--grpc-addr", addrs[1], "--store",
			"file:" + t.TempDir()}, streams{out: pipe, err: pipe})
	}()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		res, err := http.Post("http://"+addrs[0]+"/v1/ids", "application/json",
			strings.NewReader(`{"name":"orders","n":3,"create":{}}`)) //nolint:noctx // loopback
		if err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				break
			}
			err = errors.New(res.Status)
		}
		if time.Since(began) > 20*time.Second {
			t.Fatalf("no IDs: %v", err)
		}
	}
	end()
	select {
	case got := <-status:
		if got != exitDone {
			t.Errorf("exit status %d", got)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the server did not end")
	}
}
