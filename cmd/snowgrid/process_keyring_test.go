//go:build unix

package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/loopback"
	"github.com/snowgrid/snowgrid/security"
)

// TestKeyringOfProcesses: a new key is installed, used, and the old one removed by commands,
// in three agents with a directory each. An agent that is started again has the new key from
// its file, and one with the old key says why it finds no grid.
func TestKeyringOfProcesses(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	parent := t.TempDir()
	all := filepath.Join(parent, "security")
	if err := authority.Create(all, authority.Options{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	issuer, err := authority.Open(all)
	if err != nil {
		t.Fatal(err)
	}
	issue := func(name string) string {
		dir := filepath.Join(parent, name)
		if err := issuer.Issue(authority.Request{Name: name, Role: security.Member}, dir, time.Now()); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	gossip, err := loopback.FreeAddrs(4)
	if err != nil {
		t.Fatal(err)
	}
	join := strings.Join(gossip[:3], ",")
	dirs := []string{issue("m1"), issue("m2"), issue("m3")}
	agents := make([]*agent, 3)
	var starting sync.WaitGroup
	for i := range agents {
		starting.Go(func() {
			agents[i] = startAgent(t, gossip[i], "--expect", "3", "--join", join, "--security-dir", dirs[i])
		})
	}
	starting.Wait()
	if t.Failed() {
		t.FailNow()
	}
	admin := func(args ...string) (status int, out, errs string) {
		return command(t, append(args, "--addr", apis(agents), "--security-dir", all, "--role", "admin")...)
	}
	_, key, _ := command(t, "keyring", "generate")
	keyFile := filepath.Join(parent, "new.key")
	if err := os.WriteFile(keyFile, []byte("# the next one\n"+key), 0o600); err != nil {
		t.Fatal(err)
	}
	before, next := fingerprintsIn(t, dirs[0])[0], security.Fingerprint(mustKey(t, key))
	if status, out, errs := admin("keyring", "use", next); status != exitFailed ||
		!strings.Contains(errs, "install it first") {
		t.Errorf("use of a key that no member has: %d %s%s", status, out, errs)
	}
	for _, step := range []struct {
		args []string
		want []string // fingerprints in every file after it
	}{
		{[]string{"list"}, []string{before}},
		{[]string{"install", "@" + keyFile}, []string{before, next}},
		{[]string{"use", "@" + keyFile}, []string{next, before}},
		{[]string{"remove", before}, []string{next}},
	} {
		status, out, errs := admin(append([]string{"keyring"}, step.args...)...)
		if status != exitDone || strings.Count(out, "done") != 3 || strings.Contains(out, "!") ||
			strings.Contains(out+errs, strings.TrimSpace(key)) {
			t.Errorf("keyring %v: %d\n%s%s", step.args, status, out, errs)
		}
		for _, dir := range dirs {
			if got := fingerprintsIn(t, dir); !slices.Equal(got, step.want) {
				t.Errorf("after keyring %v %s has %v, want %v", step.args, dir, got, step.want)
			}
			if info, err := os.Stat(filepath.Join(dir, security.GossipKeysFile)); err != nil || info.Mode() != 0o600 {
				t.Errorf("the file is %v, %v", info.Mode(), err)
			}
		}
		if status, _, errs := admin("next", "orders", "-n", "3"); status != exitDone {
			t.Errorf("after keyring %v: %s", step.args, errs)
		}
	}
	agents[2].signal(syscall.SIGTERM)
	agents[2].exit()
	agents[2] = startAgent(t, gossip[2], "--join", join, "--security-dir", dirs[2])
	if status, out, errs := admin("keyring"); status != exitDone || strings.Count(out, next) != 3 ||
		strings.Contains(out, before) {
		t.Errorf("after a restart: %d\n%s%s", status, out, errs)
	}
	old := start(t, func(io.Reader) {}, "agent", "--gossip-addr", gossip[3], "--raft-addr", "127.0.0.1:0", "--api-addr",
		"127.0.0.1:0", "--join", join, "--security-dir", issue("old"))
	await(t, "the agent with the old key says why",
		func() bool { return strings.Contains(old.stderr.String(), "the gossip key differs") })
	await(t, "a member says why it refuses", func() bool {
		return slices.ContainsFunc(agents,
			func(a *agent) bool { return strings.Contains(a.stderr.String(), "no gossip key opens the message") })
	})
	for _, a := range agents {
		if log := a.stderr.String(); strings.Contains(log, strings.TrimSpace(key)) || !strings.Contains(log, next) &&
			a != agents[2] {
			t.Error("the log of an agent shows the key, or lacks its fingerprint")
		}
	}
}

// fingerprintsIn returns the fingerprints of the keys in a directory.
func fingerprintsIn(t *testing.T, dir string) (out []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, security.GossipKeysFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Fields(string(text)) {
		out = append(out, security.Fingerprint(mustKey(t, line)))
	}
	return out
}

func mustKey(t *testing.T, text string) []byte {
	t.Helper()
	key, err := security.ParseGossipKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
