package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/security"
)

// TestAgentBeyondLoopback: an agent that other machines reach says by which command it gets
// certificates, and names the address and where it was set.
func TestAgentBeyondLoopback(t *testing.T) {
	t.Parallel()
	dir := secureDir(t)
	noGossip := filepath.Join(t.TempDir(), "no-gossip")
	if err := os.Mkdir(noGossip, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ca.crt", "member.crt", "member.key"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(noGossip, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		file, says string // "" = no error
	}{
		{"api-addr: 127.0.0.1:7948\n", ""},
		{"api-addr: localhost:7948\n", ""},
		{"api-addr: 10.0.0.1:7948\n",
			":1:11: api-addr: \"10.0.0.1:7948\": other machines reach it, and the member has no certificates, so any process " +
				"there could end the grid; run snowgrid secure init --out DIR and give --security-dir DIR, or give --insecure"},
		{"raft-addr: 0.0.0.0:7947\n", ":1:12: raft-addr"},
		{"gossip-addr: \"[::]:7946\"\n", ":1:14: gossip-addr"},
		{"gossip-addr: \":7946\"\n", ":1:14: gossip-addr"},
		{"api-addr: 10.0.0.1:7948\ninsecure: true\n", ""},
		{"api-addr: 10.0.0.1:7948\nsecurity-dir: " + dir + "\n", ""},
		{"api-addr: 10.0.0.1:7948\nsecurity-dir: " + noGossip + "\n", "its gossip has no key; give --gossip-keys FILE"},
		{"api-addr: 10.0.0.1:7948\nsecurity-dir: " + noGossip + "\ngossip-key: " + testKey + "\n", ""},
		{"api-addr: 10.0.0.1:7948\nsecurity-dir: " + noGossip + "\ninsecure: true\n", ""},
		{"api-addr: 10.0.0.1:7948\ngossip-key: " + testKey + "\n", "has no certificates"},
	} {
		status, stdout, stderr := runCommand(t, "config", "check", writeConfig(t, test.file))
		if test.says == "" {
			if status != exitDone {
				t.Errorf("%q: status %d, %s", test.file, status, stderr)
			}
			continue
		}
		if status != exitUsage || !strings.Contains(stderr, test.says) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: status %d, %s%s; it should say %q", test.file, status, stdout, stderr, test.says)
		}
		if test.file != "api-addr: 10.0.0.1:7948\n" {
			continue
		}
		if status, _, started := runCommand(t, "agent", "--config", writeConfig(t, test.file)); status != exitUsage ||
			!strings.Contains(started, "snowgrid secure init") {
			t.Errorf("the agent: status %d, %s", status, started)
		}
	}
}

// TestConfigCheckOfCertificates: what cannot work is an error with the key and its line, and
// what needs attention is a warning.
func TestConfigCheckOfCertificates(t *testing.T) {
	t.Parallel()
	good := secureDir(t)
	changed := func(change func(dir string)) string {
		dir := secureDir(t)
		change(dir)
		return dir
	}
	rename := func(from, to string) func(string) {
		return func(dir string) {
			if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for what, test := range map[string]struct {
		file   string
		status int
		says   string
	}{
		"good": {"security-dir: " + good, exitDone, "no errors"},
		"no directory": {"security-dir: /nowhere", exitUsage,
			`:1:15: security-dir: "/nowhere": no such file: /nowhere/member.crt; make the directory with snowgrid secure init`},
		"no authority": {"security-dir: " + changed(rename("ca.crt", "x")), exitUsage, "no such file:"},
		"another key": {"security-dir: " + changed(rename("holder.key", "member.key")), exitUsage,
			"private key does not match"},
		"damaged token keys": {"security-dir: " + changed(rename("tokens.key", "tokens.pub")), exitUsage, "Ed25519"},
		"damaged keys":       {"security-dir: " + changed(rename("ca.key", "gossip.keys")), exitUsage, "line 1"},
		"ended": {"security-dir: " + changed(func(dir string) {
			issueRole(t, dir, dir, security.Member, -2*time.Hour, time.Hour)
		}), exitUsage, "ended at"},
		"ends soon": {"security-dir: " + changed(func(dir string) {
			issueRole(t, dir, dir, security.Member, 0, 48*time.Hour)
		}), exitDone, "warning: member.crt: it ends soon"},
		"readable by others": {"security-dir: " + changed(func(dir string) {
			if err := os.Chmod(filepath.Join(dir, "member.key"), 0o644); err != nil {
				t.Fatal(err)
			}
		}), exitUsage, "every user may read"},
		"readable by its group": {"security-dir: " + changed(func(dir string) {
			if err := os.Chmod(filepath.Join(dir, "member.key"), 0o660); err != nil {
				t.Fatal(err)
			}
		}), exitDone, "warning: other users may read member.key"},
		"two gossip keys": {"security-dir: " + good + "\ngossip-key: " + testKey, exitUsage, ":2:13: gossip-key: "},
		"half a certificate": {"tls-cert: " + good + "/member.crt", exitUsage, ":1:11: tls-cert: \"" + good +
			"/member.crt\": its private key is missing"},
		"half of the other": {"tls-key: " + good + "/member.key", exitUsage, "its certificate is missing"},
		"no trust": {"tls-cert: " + good + "/member.crt\ntls-key: " + good + "/member.key", exitUsage,
			"give --tls-ca"},
		"an authority alone": {"tls-ca: " + good + "/ca.crt", exitUsage, "a member has no certificate"},
		"own files": {"tls-cert: " + good + "/member.crt\ntls-key: " + good + "/member.key\ntls-ca: " + good +
			"/ca.crt", exitDone, "no errors"},
		"a name for nothing": {"tls-server-name: x", exitUsage, "it requires certificates"},
		"rules for nothing":  {"identity-rules: x", exitUsage, "it requires certificates"},
		"keys without":       {"gossip-keys: x", exitUsage, "it requires certificates"},
		"no rules": {"security-dir: " + good + "\nidentity-rules: /nowhere", exitUsage,
			":2:17: identity-rules: \"/nowhere\": no such file"},
		"a rule without role": {"security-dir: " + good + "\nidentity-rules: " + rulesFile(t, "# mine\n\nsubject:CN=a\n"),
			exitUsage, "line 3: \"subject:CN=a\" has no role"},
		"a role that is none": {"security-dir: " + good + "\nidentity-rules: " + rulesFile(t, "subject:CN=a king\n"),
			exitUsage, "line 1: role \"king\""},
		"a pattern of nothing": {"security-dir: " + good + "\nidentity-rules: " + rulesFile(t, "web-* holder\n"), exitUsage,
			"line 1: rule \"web-*\""},
		"an open quote": {"security-dir: " + good + "\nidentity-rules: " + rulesFile(t, "\"subject:CN=a holder\n"), exitUsage,
			"line 1:"},
		"an empty file": {"security-dir: " + good + "\nidentity-rules: " + rulesFile(t, "# none\n"), exitUsage,
			"it has 0 rules"},
	} {
		t.Run(what, func(t *testing.T) {
			status, stdout, stderr := runCommand(t, "config", "check", writeConfig(t, test.file+"\n"))
			if status != test.status || !strings.Contains(stdout+stderr, test.says) || strings.Count(stderr, "\n") > 1 {
				t.Errorf("status %d, want %d with %q\n%s%s", status, test.status, test.says, stdout, stderr)
			}
			if strings.Contains(stdout+stderr, testKey) || strings.Contains(stdout+stderr, "-----") {
				t.Error("a secret is shown")
			}
		})
	}
}

// issueRole writes a certificate of another time and its key into a directory.
func issueRole(t *testing.T, issuer, dir string, role security.Role, begins, ttl time.Duration) {
	t.Helper()
	a, err := authority.Load(filepath.Join(issuer, "ca.crt"), filepath.Join(issuer, "ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := a.Issue(authority.Request{Name: string(role), Role: role, TTL: ttl}, time.Now().Add(begins))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{string(role) + ".crt": cert, string(role) + ".key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func rulesFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rules")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestIdentityRules: lines give roles and names to subjects and alternative names.
func TestIdentityRules(t *testing.T) {
	rules, err := readRules(rulesFile(t,
		"# ours\n  subject:CN=web-*  holder orders-*, bills-*\n\n\"subject:CN=the admin,O=Shop\" "+
			"admin\nuri:spiffe://shop/grid\tmember\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rules {
		got = append(got, string(r.Match)+" | "+string(r.Role)+" | "+listOf(r.Names, "+"))
	}
	want := "subject:CN=web-* | holder | orders-*+bills-*\nsubject:CN=the admin,O=Shop | admin | " +
		"\nuri:spiffe://shop/grid | member | "
	if strings.Join(got, "\n") != want {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

// TestSecretsAreMasked: config print shows files by their names, and no token or key.
func TestSecretsAreMasked(t *testing.T) {
	t.Setenv("SNOWGRID_TOKEN", "secret.token.text")
	t.Setenv("SNOWGRID_GOSSIP_KEY", testKey)
	out := succeed(t, "config", "print", "--security-dir", "/etc/snowgrid/security")
	if strings.Contains(out, "secret.token.text") || strings.Contains(out, testKey) ||
		!strings.Contains(out, "/etc/snowgrid/security") || strings.Count(out, hiddenValue) != 2 {
		t.Errorf("%s", out)
	}
}
