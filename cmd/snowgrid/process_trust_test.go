//go:build unix

package main

import (
	"github.com/snowgrid/snowgrid/internal/long"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/security"
)

// TestErrorsOfTrust: whatever keeps a command and a member from trusting each other is one
// sentence with the remedy, the same for calls over HTTP and for the package client.
func TestErrorsOfTrust(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	dir, other := secureDir(t), secureDir(t)
	expired := filepath.Join(t.TempDir(), "expired")          // the same authority, and certificates that have ended
	if err := os.CopyFS(expired, os.DirFS(dir)); err != nil { // with modes that depend on the umask
		t.Fatal(err)
	}
	for _, key := range []string{"ca.key", "member.key", "admin.key", "tokens.key", "gossip.keys"} {
		if err := os.Chmod(filepath.Join(expired, key), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	issueRole(t, dir, expired, security.Member, -2*time.Hour, time.Hour)
	mixed := t.TempDir() // the certificate of another authority
	foreign := t.TempDir()
	late := t.TempDir()
	for _, c := range []struct{ to, ca, cert string }{{mixed, dir, other}, {foreign, other, dir}, {late, dir, ""}} {
		copyOver(t, filepath.Join(c.ca, "ca.crt"), filepath.Join(c.to, "ca.crt"))
		if c.cert != "" {
			copyOver(t, filepath.Join(c.cert, "admin.crt"), filepath.Join(c.to, "admin.crt"))
			copyOver(t, filepath.Join(c.cert, "admin.key"), filepath.Join(c.to, "admin.key"))
		}
	}
	issueRole(t, dir, late, security.Admin, -2*time.Hour, time.Hour)
	web := filepath.Join(t.TempDir(), "web")
	succeed(t, "secure", "issue", "--dir", dir, "--role", "holder", "--names", "orders-*", "--for", "web", "--out", web)
	tokenOf := func(dir, ttl string) string {
		return strings.TrimSpace(succeed(t, "secure", "token", "--dir", dir, "--role", "reader", "--for", "ci", "--ttl", ttl))
	}
	agentWith := func(args ...string) string {
		args = append([]string{"--expect", "1"}, args...)
		return startAgent(t, "127.0.0.1:0", args...).api
	}
	good, old, clear := agentWith("--security-dir", dir), agentWith("--security-dir", expired), agentWith()
	rules := rulesFile(t, "dns:member.snowgrid holder\n") // members are taken for holders
	for _, c := range []struct {
		what, addr, flags, says string
	}{
		{"another authority", good, "--security-dir " + other,
			"of an authority that is not trusted here: use certificates of one authority"},
		{"a certificate of another authority", good, "--security-dir " + mixed,
			"the member does not trust the authority of this certificate: use one that its authority issued"},
		{"the authority of another member", good, "--security-dir " + foreign, "of an authority that is not trusted here"},
		{"an expired certificate", good, "--security-dir " + late,
			"this certificate is expired, or not valid yet: renew it with snowgrid secure issue"},
		{"an expired member", old, "--security-dir " + dir,
			"the certificate of the other side is expired, or not valid yet: renew it"},
		{"TLS to clear text", clear, "--security-dir " + dir,
			"speaks clear text, since it runs without security: omit --security-dir"},
		{"clear text to TLS", good, "", "the member expects TLS: give --security-dir (SNOWGRID_SECURITY_DIR)"},
		{"no certificate", good, "--tls-ca " + dir + "/ca.crt", "needs the role reader; give a certificate or a token"},
		{"no token", good, "--token abc --tls-ca " + dir + "/ca.crt",
			"this is not a token; use one of snowgrid secure token"},
		{"a token of another key", good, "--token " + tokenOf(other, "1h") + " --tls-ca " + dir + "/ca.crt",
			"not in tokens.pub of this member"},
		{"a token to clear text", clear, "--token " + tokenOf(dir, "1h"), "give --tls-ca, or --security-dir"},
		{"another server name", good, "--security-dir " + dir + " --tls-server-name x.example", "is for another host"},
		{"a process without the role member", good, "--security-dir " + dir + " --identity-rules " + rules,
			"role holder), and no member"},
		{"a role without certificate", good, "--role reader --security-dir " + web, "no such file: " + web + "/reader.crt"},
		{"no directory", good, "--security-dir /nowhere",
			"no such file: /nowhere/admin.crt; make the directory with snowgrid secure init"},
	} {
		t.Run(c.what, func(t *testing.T) {
			for _, command := range []string{"status", "next orders-1", "alive"} {
				if identified := strings.HasPrefix(c.what, "no ") || strings.HasPrefix(c.what, "a token of"); command == "alive" &&
					identified && c.what != "no directory" {
					continue // it needs no identity
				}
				words := strings.Fields(command + " --addr " + c.addr + " " + c.flags)
				began := time.Now()
				status, stdout, stderr := runCommand(t, words...)
				want := exitFailed
				if strings.Contains(c.says, "no such file:") || strings.Contains(c.says, "give --tls-ca") {
					want = exitUsage
				}
				if status != want || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, c.says) {
					t.Errorf("%s: status %d, want %d with %q\n%s%s", command, status, want, c.says, stdout, stderr)
				}
				if strings.Count(stderr, c.addr) > 1 || packagePrefix.MatchString(strings.TrimPrefix(stderr, "snowgrid: ")) {
					t.Errorf("%s: it repeats itself: %s", command, stderr)
				}
				if took := time.Since(began); took > 8*time.Second {
					t.Errorf("%s: %v: it tries again although nothing changes by that", command, took)
				}
			}
		})
	}
	for _, c := range [][2]string{{"next bills", "open of \"bills\""}, {"settings set window=30s", "needs the role admin"},
		{"holders bills", "list of \"bills\""}} {
		words := append(strings.Fields(c[0]), "--addr", good, "--security-dir", web)
		if status, stdout, stderr := runCommand(t, words...); status != exitFailed || stdout != "" ||
			!strings.Contains(stderr, c[1]) || !strings.Contains(stderr, `"web" (cert:`) {
			t.Errorf("%s: status %d, %s", c[0], status, stderr)
		}
	}
	status, stdout, stderr := runCommand(t, "export", "--addr", good, "--security-dir", web)
	if status != exitFailed || stdout != "" || !strings.Contains(stderr, `these credentials may use ["orders-*"] only`) {
		t.Errorf("export of some names: status %d, %s", status, stderr)
	}
}
