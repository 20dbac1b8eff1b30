//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestHangupReloadsCertificates: SIGHUP has a running agent use the certificates and keys that
// are in its directory now. Files that do not work change nothing, the log level of the same
// reload included.
func TestHangupReloadsCertificates(t *testing.T) {
	t.Parallel()
	dir := secureDir(t)
	file := writeConfig(t, "expect: 1\nsecurity-dir: "+dir+"\nlog-level: info\n"+
		"gossip-addr: 127.0.0.1:0\nraft-addr: 127.0.0.1:0\napi-addr: 127.0.0.1:0\ndata-dir: "+t.TempDir()+"\n")
	a, served := startConfigured(t, file)
	a.awaitAPI(served)
	status := func(dir string, want int, says string) {
		t.Helper()
		if status, stdout, stderr := runCommand(t, "status", "--addr", a.api, "--security-dir", dir); status != want ||
			!strings.Contains(stdout+stderr, says) {
			t.Errorf("status with %s: exit %d, want %d with %q\n%s%s", dir, status, want, says, stdout, stderr)
		}
	}
	reload := func(want string) {
		t.Helper()
		before := strings.Count(a.stderr.String(), want)
		a.signal(syscall.SIGHUP)
		await(t, want, func() bool { return strings.Count(a.stderr.String(), want) > before })
	}
	other := secureDir(t)
	status(dir, exitDone, "snowgrid (")
	status(other, exitFailed, "ca.crt")

	// All files of another authority: the callers of the first one are refused from now on.
	kept := map[string][]byte{}
	names := []string{"ca.crt", "member.crt", "member.key", "tokens.pub"}
	for _, name := range names {
		kept[name] = copyOver(t, filepath.Join(other, name), filepath.Join(dir, name))
	}
	admin := filepath.Join(t.TempDir(), "admin")
	if err := os.Mkdir(admin, 0o700); err != nil {
		t.Fatal(err)
	}
	copyOver(t, filepath.Join(dir, "admin.crt"), filepath.Join(admin, "admin.crt"))
	copyOver(t, filepath.Join(dir, "admin.key"), filepath.Join(admin, "admin.key"))
	copyOver(t, filepath.Join(dir, "ca.crt"), filepath.Join(admin, "ca.crt"))
	reload(`changed="certificates and keys"`)
	if log := a.stderr.String(); !strings.Contains(log, `msg="credentials reloaded"`) {
		t.Errorf("the log lacks the end of the new certificate:\n%s", tail(log))
	}
	status(other, exitDone, "snowgrid (")
	status(admin, exitFailed, "the authority of this certificate")

	// A key that does not fit, and another log level: neither is taken.
	if err := os.WriteFile(filepath.Join(dir, "member.key"), kept["member.key"], 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "level: info", "level: debug", 1)),
		0o600); err != nil {
		t.Fatal(err)
	}
	reload("configuration not reloaded")
	if log := a.stderr.String(); strings.Contains(log, "log-level: info -> debug") ||
		!strings.Contains(log, "member.key: private key does not match") {
		t.Errorf("the log says\n%s", tail(log))
	}
	status(other, exitDone, "snowgrid (")
	copyOver(t, filepath.Join(other, "member.key"), filepath.Join(dir, "member.key"))
	reload("log-level: info -> debug")
	a.signal(syscall.SIGTERM)
	if status := a.exit(); status != exitDone {
		t.Errorf("status %d", status)
	}
}

// copyOver copies a file over another one, and returns what that had.
func copyOver(t *testing.T, from, to string) []byte {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(to)
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return before
}
