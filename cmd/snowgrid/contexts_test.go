package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// withContexts gives the test a configuration directory of its own.
func withContexts(t *testing.T) (dir string) {
	t.Helper()
	home := t.TempDir()
	for _, variable := range []string{"HOME", "XDG_CONFIG_HOME", "AppData"} {
		t.Setenv(variable, home)
	}
	all, err := openContexts()
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

// addrOf returns the address and the role of a status command, and an error.
func addrOf(t *testing.T, args ...string) (addr, role string, err error) {
	t.Helper()
	parsed, err := parse(t, append([]string{"status"}, args...)...)
	return strings.Join(parsed.Status.Addr, ","), parsed.Status.Role, err
}

func TestContexts(t *testing.T) {
	dir := withContexts(t)
	for _, line := range []string{
		"context add prod --addr 10.0.0.1:7948,10.0.0.2:7948 --security-dir secure --role reader",
		"context add dev --addr 10.0.1.1:7948",
	} {
		if status, _, stderr := runCommand(t, strings.Fields(line)...); status != 0 {
			t.Fatalf("%s: %s", line, stderr)
		}
	}
	file := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(file, []byte("addr: [10.0.3.1:7948]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const none, prod = "127.0.0.1:7948", "10.0.0.1:7948,10.0.0.2:7948"
	tests := []struct {
		about, current, args, variable string
		addr, role                     string
	}{
		{"no context", "", "", "", none, ""},
		{"named by a flag", "", "--context prod", "", prod, "reader"},
		{"named by a flag beside another", "dev", "--context prod", "", prod, "reader"},
		{"current", "prod", "", "", prod, "reader"},
		{"a flag has precedence", "", "--context prod --role admin", "", prod, "admin"},
		{"an address of a named context", "", "--context prod --addr 10.0.2.1:1", "", "10.0.2.1:1", "reader"},
		{"the current one is not used with an address", "prod", "--addr 10.0.2.1:1", "", "10.0.2.1:1", ""},
		{"nor with one of the environment", "prod", "", "10.0.2.1:1", "10.0.2.1:1", ""},
		{"nor with a configuration file", "prod", "--config " + file, "", "10.0.3.1:7948", ""},
	}
	for _, test := range tests {
		t.Run(test.about, func(t *testing.T) {
			if status, _, stderr := runCommand(t, strings.Fields("context use "+test.current)...); status != 0 {
				t.Fatal(stderr)
			}
			if test.variable != "" {
				t.Setenv("SNOWGRID_ADDR", test.variable)
			}
			addr, role, err := addrOf(t, strings.Fields(test.args)...)
			if err != nil || addr != test.addr || role != test.role {
				t.Errorf("address %s, role %q, %v; want %s, %q", addr, role, err, test.addr, test.role)
			}
		})
	}
	if parsed, err := parse(t, "status", "--context", "prod"); err != nil || !filepath.IsAbs(parsed.Status.SecurityDir) {
		t.Errorf("the directory is %q, want an absolute path; %v", parsed.Status.SecurityDir, err)
	}
	t.Setenv("SNOWGRID_CONTEXT", "dev")
	if addr, _, err := addrOf(t); err != nil || addr != "10.0.1.1:7948" {
		t.Errorf("with the variable: %s, %v", addr, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "prod.yaml")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the file: %v, %v", info.Mode(), err)
	}
}

// TestContextRefusals: bad names, values and files of contexts are refused, with the remedy.
func TestContextRefusals(t *testing.T) {
	dir := withContexts(t)
	if status, _, stderr := runCommand(t, "context", "add", "dev", "--addr", "10.0.1.1:7948"); status != 0 {
		t.Fatal(stderr)
	}
	for name, text := range map[string]string{
		"agent":  "expect: 3\n",
		"secret": "token: abc\n",
		"bad":    "addr: [a:1]\ntimeout: soon\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name+contextSuffix), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	writable := filepath.Join(dir, "open"+contextSuffix)
	if err := errors.Join(os.WriteFile(writable, []byte("addr: [a:1]\n"), 0o600), os.Chmod(writable, 0o666)); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"status --context prod":                               `these are saved: agent, bad, dev, open, secret`,
		"status --context ../dev":                             "invalid context name",
		"context use prod":                                    `there is no context "prod"`,
		"context remove prod":                                 `there is no context "prod"`,
		"context add dev --addr 10.0.1.1:1":                   "give --replace",
		"context add x --addr 10.0.1.1":                       "this is not host:port",
		"context add x --addr 10.0.1.1:1 --role king":         "give admin, holder, reader or member",
		"context add x --addr a:1 --security-dir s --token t": "a context stores no secret",
		"status --context agent":                              "agent.yaml:1:9: expect: a context has no such key",
		"status --context secret":                             "token: a context has no such key",
		"status --context bad":                                "bad.yaml:2",
		"status --context open":                               "any user on this machine may change the context",
	} {
		status, _, stderr := runCommand(t, strings.Fields(line)...)
		if status == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, %s; want %q", line, status, stderr, want)
		}
	}
	if _, stdout, _ := runCommand(t, "context"); !strings.Contains(stdout, "10.0.1.1:7948") ||
		strings.Count(stdout, "refused: ") != 4 {
		t.Errorf("the list:\n%s", stdout)
	}
}

// TestContextWithoutToken: a token of the shell is not saved.
func TestContextWithoutToken(t *testing.T) {
	dir := withContexts(t)
	t.Setenv("SNOWGRID_TOKEN", "secret")
	status, _, stderr := runCommand(t, "context", "add", "dev", "--addr", "10.0.1.1:7948", "--tls-ca", "ca.crt")
	if status != 0 {
		t.Fatal(stderr)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "dev.yaml")); err != nil || strings.Contains(string(text), "secret") {
		t.Errorf("%s, %v", text, err)
	}
}

func TestContextRemoved(t *testing.T) {
	withContexts(t)
	for _, line := range []string{"context add dev --addr 10.0.1.1:7948", "context use dev", "context remove dev"} {
		if status, _, stderr := runCommand(t, strings.Fields(line)...); status != 0 {
			t.Fatalf("%s: %s", line, stderr)
		}
	}
	if addr, _, err := addrOf(t); err != nil || addr != "127.0.0.1:7948" {
		t.Errorf("after the removal of the current context: %s, %v", addr, err)
	}
	if _, stdout, _ := runCommand(t, "context", "list"); !strings.HasPrefix(stdout, "no contexts") {
		t.Errorf("the list: %s", stdout)
	}
}
