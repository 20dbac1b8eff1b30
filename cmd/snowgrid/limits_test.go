package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestFlagsBeyondLimits: a time limit that has ended when it begins, and a port that does not exist, are
// mistakes of the command line, and no silence of the grid.
func TestFlagsBeyondLimits(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"status --timeout=0s":                  `--timeout=0s: give a duration above 0, such as 10s`,
		"next orders --timeout=-1s":            `--timeout=-1s: give a duration above 0, such as 10s`,
		"alive --timeout=0s":                   `--timeout=0s: give a duration above 0, such as 10s`,
		"init --first-life --timeout=0s":       `--timeout=0s: give a duration above 0, such as 10s`,
		"agent --leave-timeout=0s":             `--leave-timeout=0s: give a duration above 0, such as 10s`,
		"agent --expect 1 --leave-timeout=-5s": `--leave-timeout=-5s: give a duration above 0, such as 10s`,
		"status --addr localhost:99999":        `--addr=localhost:99999: the port is "99999"; give 1 to 65535`,
		"wait ready --addr localhost:x-y":      `--addr=localhost:x-y: the port is "x-y"; give 1 to 65535`,
		"status --addr localhost:http":         `--addr=localhost:http: the port is "http"; give 1 to 65535`,
		"next x --addr u@localhost:1":          `--addr=u@localhost:1: the host has the character '@'; give an IP or a DNS name`,
	} {
		status, stdout, stderr := runCommand(t, strings.Fields(line)...)
		if want := "snowgrid: " + want; status != exitUsage || stdout != "" || !strings.HasPrefix(stderr, want) {
			t.Errorf("%s: status %d, stdout %q, stderr %q, want %q", line, status, stdout, stderr, want)
		}
	}
}

// TestAgentRefusesMeaninglessFlags: a flag that cannot work, or that means nothing without another one, ends the agent
// before it listens.
func TestAgentRefusesMeaninglessFlags(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--epoch", "2026-01-01"}, "--epoch=2026-01-01T00:00:00.000Z: it belongs to the ID in --floor"},
		{[]string{"--layout", "jssafe"}, "--layout=53/12/64: it belongs to the ID in --floor"},
		{[]string{"--floor", "12345", "--epoch", "2026-01-01", "--layout", "9/9/9"}, "--layout: layout 9/9/9: 9 nodes"},
		{[]string{"--join="}, "--join: the list is empty; give HOST:PORT, or omit it"},
		{[]string{"--join", "10.0.0.300"}, `--join: join address "10.0.0.300" is not host:port`},
		{[]string{"--window", "1s500us"}, "--window: window is 1.0005s; give whole milliseconds"},
		{[]string{"--advertise-host", "a b"}, `--advertise-host: "a b" is neither an IP nor a host name`},
		{[]string{"--advertise-host", "10.0.0.300"}, `--advertise-host: "10.0.0.300" is neither an IP nor`},
		{[]string{"--ops-addr", "127.0.0.1:99999"}, `--ops-addr=127.0.0.1:99999: the port is "99999"; give 0 to 65535`},
		{[]string{"--ops-addr", "127.0.0.1:b"}, `--ops-addr=127.0.0.1:b: the port is "b"; give 0 to 65535`},
		{[]string{"--tls-ca", "ca.crt"}, "--tls-ca=ca.crt: a member has no certificate; give --tls-cert and --tls-key"},
		{[]string{"--name", "a b"}, `--name: "a b" contains a space at position 2; omit it`},
		{[]string{"--name", "a b", "--join", "127.0.0.1:1"}, `--name: "a b" contains a space at position 2; omit it`},
		{[]string{"--data-dir", file}, "--data-dir=" + file + ": cannot be used: mkdir " + file + ": not a directory; give"},
		{[]string{"--data-dir", filepath.Join(file, "x")}, "--data-dir=" + file + "/x: cannot be used: mkdir " + file},
		{[]string{"--data-dir", "/proc/nope"}, "--data-dir=/proc/nope: cannot be used: mkdir /proc/nope: no such file"},
		{[]string{"--data-dir", "/proc/self"}, "--data-dir=/proc/self: cannot be used: open /proc/self/"},
		{[]string{"--data-dir", dir, "--identity-set", "a\tb"}, `--identity-set: set name "a\tb" must be`},
	} {
		ports := []string{"agent", "--gossip-addr=127.0.0.1:0", "--raft-addr=127.0.0.1:0", "--api-addr=127.0.0.1:0"}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		var out, errs bytes.Buffer
		status := run(ctx, append(ports, test.args...), streams{out: &out, err: &errs})
		if status != exitUsage || out.Len() > 0 || ctx.Err() != nil ||
			!strings.HasPrefix(errs.String(), "snowgrid: "+test.want) {
			t.Errorf("%q: status %d, stdout %q, stderr:\n%.600s", test.args, status, out.String(), errs.String())
		}
		cancel()
	}
}

// TestEpochOfOtherCommands: SNOWGRID_EPOCH and SNOWGRID_LAYOUT are variables of other commands too, and no mistake
// without a floor.
func TestEpochOfOtherCommands(t *testing.T) {
	t.Setenv("SNOWGRID_EPOCH", "twitter")
	t.Setenv("SNOWGRID_LAYOUT", "twitter")
	if status, _, stderr := runCommand(t, "config", "check", writeConfig(t, "expect: 1\n")); status != exitDone {
		t.Errorf("status %d: %s", status, stderr)
	}
	if err := os.Unsetenv("SNOWGRID_EPOCH"); err != nil { // it has precedence over the file
		t.Fatal(err)
	}
	status, _, stderr := runCommand(t, "config", "check", writeConfig(t, "expect: 1\nepoch: twitter\n"))
	if want := "it belongs to the ID in --floor"; status != exitUsage || !strings.Contains(stderr, ":2:8: epoch: ") ||
		!strings.Contains(stderr, want) {
		t.Errorf("status %d, stderr %q, want %q", status, stderr, want)
	}
}
