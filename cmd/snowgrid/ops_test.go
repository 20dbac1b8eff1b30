//go:build unix

package main

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/snowgrid/snowgrid/internal/loopback"
)

// fetch returns the status and the body of a GET.
func fetch(t *testing.T, url string) (status int, body string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

// TestOpsListener: an agent serves health checks while it waits for its grid, and metrics
// without a problem of form when it serves; profiles only where that was asked for.
func TestOpsListener(t *testing.T) {
	t.Parallel()
	addrs, err := loopback.FreeAddrs(3)
	if err != nil {
		t.Fatal(err)
	}
	waits := start(t, func(io.Reader) {}, "agent", "--expect", "3", "--join", addrs[0], "--gossip-addr", addrs[0],
		"--raft-addr", "127.0.0.1:0", "--api-addr", "127.0.0.1:0", "--ops-addr", addrs[1])
	await(t, "the ops listener of a member that waits",
		func() bool { status, _ := fetch(t, "http://"+addrs[1]+"/livez"); return status == 200 })
	if status, body := fetch(t, "http://"+addrs[1]+"/readyz"); status != 503 ||
		!strings.Contains(body, "waits for its grid; GET /readyz at its API (127.0.0.1:0)") {
		t.Errorf("/readyz of a member that waits: %d %s", status, body)
	}
	if status, _ := fetch(t, "http://"+addrs[1]+"/debug/pprof/"); status != 404 {
		t.Errorf("/debug/pprof/ without --pprof: %d", status)
	}
	_ = waits.cmd.Process.Kill()

	agent := startAgent(t, "127.0.0.1:0", "--expect", "1", "--ops-addr", addrs[2], "--pprof")
	if status, out, errs := command(t, "next", "orders", "-n", "1000", "--addr", agent.api); status != exitDone {
		t.Fatalf("next: %d %s %s", status, tail(out), errs)
	}
	url := "http://" + addrs[2]
	_, scrape := fetch(t, url+"/metrics")
	problems, err := promlint.New(strings.NewReader(scrape)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v %v", err, problems)
	}
	for _, want := range []string{
		`snowgrid_sequencer_ids_total{sequencer="orders"} 1000`, `snowgrid_ready 1`, `snowgrid_leader 1`,
		`snowgrid_partitions_owned 271`,
		`snowgrid_disk_write_duration_seconds_count{store="raft"} [1-9]`,
		`snowgrid_disk_write_duration_seconds_count{store="definitions"} [1-9]`,
		`snowgrid_api_requests_total{code="ok",path="/v1/create"} 1`, `snowgrid_attach_duration_seconds_count 1`,
		`go_goroutines `, `process_resident_memory_bytes `,
		`snowgrid_alerts{name="too_few_members",severity="info"} 1`,
		`snowgrid_alerts{name="quorum_lost",severity="critical"} 0`,
	} {
		if !regexp.MustCompile("(?m)^" + want).MatchString(scrape) {
			t.Errorf("the scrape lacks %s", want)
		}
	}
	for path, want := range map[string]string{"/readyz": "ready", "/readyz?verbose": "check passed", "/livez": "alive",
		"/": "/metrics", "/debug/pprof/": "goroutine"} {
		if status, body := fetch(t, url+path); status != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, out, errs := command(t, "status", "--check", "--addr", agent.api); status != exitDone ||
		!strings.Contains(out, "healthy") {
		t.Errorf("status --check: %d %s %s", status, out, errs)
	}
}

// TestOpsFlags: profiles need a listener that only this machine reaches.
func TestOpsFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--pprof":                                "give --ops-addr with a loopback address",
		"--pprof --ops-addr 0.0.0.0:7949":        "because profiles expose the process's memory",
		"--pprof --ops-addr metrics.example:1":   "because profiles expose the process's memory",
		"--ops-addr 7949":                        "not host:port",
		"--ops-addr 203.0.113.7:7949 --expect 1": "choose a free address",
	} {
		status, _, errs := command(t, append([]string{"agent"}, strings.Fields(args)...)...)
		wants := exitUsage
		if strings.Contains(args, "203.") { // the flag is right, and the host does not have the address
			wants = exitFailed
		}
		if status != wants || !strings.Contains(errs, want) {
			t.Errorf("agent %s: exit status %d, %s", args, status, errs)
		}
	}
}
