package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/loopback"
)

// TestAgentEndsByRequest: an agent with a configuration file in the key names of the gossip
// membership service is reached at its ports, and its process ends in order, with status 0,
// when its API is asked to leave.
func TestAgentEndsByRequest(t *testing.T) {
	t.Parallel()
	addrs, err := loopback.FreeAddrs(3)
	if err != nil {
		t.Fatal(err)
	}
	port := func(i int) string { return strings.TrimPrefix(addrs[i], "127.0.0.1:") }
	file := filepath.Join(t.TempDir(), "agent.yaml")
	text := fmt.Sprintf(
		"id: ''\naddress: 127.0.0.1\nprotocol.port: %s\nserver.port: %s\niteration.interval.ms: 1000\nclient.threads: 3\n"+
			"raft-addr: %s\nexpect: 1\ndata-dir: %s\n", port(0), port(1), addrs[2], t.TempDir())
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	read, write := io.Pipe()
	var log strings.Builder
	status := make(chan int, 1)
	go func() {
		status <- run(t.Context(), []string{"agent", "--config", file}, streams{out: write, err: &log})
		_ = write.Close()
	}()
	line := make([]byte, 512)
	n, _ := read.Read(line)
	if !strings.Contains(string(line[:n]), "api "+addrs[1]+", gossip "+addrs[0]) {
		t.Fatalf("status %d, stdout %q, stderr\n%s", <-status, line[:n], log.String())
	}
	for _, call := range []struct{ method, path, want string }{
		{http.MethodGet, "/membership/size", "1\n"},
		{http.MethodPost, "/membership/unsubscribe", "true\n"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), call.method, "http://"+addrs[1]+call.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || string(body) != call.want {
			t.Errorf("%s: %d %q, %v; want %s", call.path, res.StatusCode, body, err, call.want)
		}
	}
	select {
	case got := <-status:
		if got != exitDone || !strings.Contains(log.String(), "member ended by API request") {
			t.Errorf("exit status %d, log\n%s", got, log.String())
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the agent did not end")
	}
}
