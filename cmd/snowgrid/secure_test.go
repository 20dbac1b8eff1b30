package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/token"
	"github.com/snowgrid/snowgrid/security"
)

// secureDir makes a directory by snowgrid secure init.
func secureDir(t *testing.T, more ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "security")
	succeed(t, append([]string{"secure", "init", "--out", dir}, more...)...)
	return dir
}

// succeed runs a command that has to end with status 0, and returns what it prints.
func succeed(t *testing.T, args ...string) string {
	t.Helper()
	status, stdout, stderr := runCommand(t, args...)
	if status != exitDone {
		t.Fatalf("snowgrid %s: status %d, %s", strings.Join(args, " "), status, stderr)
	}
	return stdout
}

// refuse runs a command that has to fail with a text.
func refuse(t *testing.T, says string, args ...string) {
	t.Helper()
	if status, stdout, stderr := runCommand(t, args...); status == exitDone || stdout != "" ||
		!strings.Contains(stderr, says) || strings.Count(stderr, "\n") != 1 {
		t.Errorf("snowgrid %s: status %d, %q; it should say %q in one line, and says %s", strings.Join(args, " "), status,
			stdout, says, stderr)
	}
}

// filesOf returns the names of the files of a directory with their permissions.
func filesOf(t *testing.T, dir string) map[string]os.FileMode {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]os.FileMode{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = info.Mode().Perm()
	}
	return out
}

// TestSecureInit: the directory has all that agents and commands need, private files are
// private, and nothing is overwritten.
func TestSecureInit(t *testing.T) {
	dir := secureDir(t, "--host", "ids.example.org,10.0.0.1")
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory: %v, %v", info.Mode(), err)
	}
	files := filesOf(t, dir)
	for _, name := range []string{"ca.key", "tokens.key", "gossip.keys", "member.key", "admin.key", "holder.key",
		"reader.key"} {
		if files[name] != 0o600 {
			t.Errorf("%s has permissions %v", name, files[name])
		}
	}
	for _, name := range []string{"ca.crt", "tokens.pub", "member.crt", "admin.crt", "holder.crt", "reader.crt"} {
		if files[name] != 0o644 {
			t.Errorf("%s has permissions %v", name, files[name])
		}
	}
	if len(files) != 13 {
		t.Errorf("%d files: %v", len(files), files)
	}
	for _, role := range security.Roles() {
		c, err := security.Load(security.Config{Dir: dir, Role: role}, role)
		if err != nil || c.Role() != role || time.Until(c.Expiry()) < 364*24*time.Hour {
			t.Errorf("%s: %v", role, err)
		}
		if role == security.Member && (len(c.GossipKeys()) != 1 || len(c.TokenKeys()) == 0) {
			t.Error("a member has no gossip key or checks no tokens")
		}
	}
	before, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	refuse(t, "give a directory that does not exist", "secure", "init", "--out", dir)
	if after, err := os.ReadFile(filepath.Join(dir, "ca.crt")); err != nil || string(after) != string(before) {
		t.Error("a second init changed the directory")
	}
	refuse(t, "neither a DNS name nor an IP address", "secure", "init", "--out", dir+"2", "--host", "ids.example.org:7948")
	refuse(t, `grid "b a d" contains a space at position 2; leave it out`, "secure", "init", "--out", dir+"2",
		"--grid", "b a d")
	refuse(t, "parent", "secure", "init", "--out", filepath.Join(dir, "none", "security"))
	if entries := filesOf(t, filepath.Dir(dir)); len(entries) != 1 {
		t.Errorf("something is left of the failed command: %v", entries)
	}
	empty := t.TempDir()
	succeed(t, "secure", "init", "--out", empty)
}

// TestSecureIssue: a directory for a process has everything that it needs, and no key of another.
func TestSecureIssue(t *testing.T) {
	dir := secureDir(t)
	web, member := filepath.Join(t.TempDir(), "web"), filepath.Join(t.TempDir(), "m1")
	succeed(t, "secure", "issue", "--dir", dir, "--role", "holder", "--names", "orders-*,a b", "--for", "web", "--out",
		web, "--ttl", "48h")
	succeed(t, "secure", "issue", "--dir", dir, "--role", "member", "--for", "m1", "--host", "m1.example.org",
		"--out", member)
	if files := filesOf(t, web); len(files) != 3 || files["holder.key"] != 0o600 || files["holder.crt"] == 0 ||
		files["ca.crt"] == 0 {
		t.Errorf("the files of a holder: %v", files)
	}
	if files := filesOf(t, member); len(files) != 5 || files["gossip.keys"] != 0o600 || files["tokens.pub"] == 0 ||
		files["member.key"] != 0o600 {
		t.Errorf("the files of a member: %v", files)
	}
	c, err := security.Load(security.Config{Dir: web}, security.NoRole)
	if err != nil || c.Role() != security.Holder || time.Until(c.Expiry()) > 49*time.Hour {
		t.Errorf("holder: %v until %v", err, c.Expiry())
	}
	out := filepath.Join(t.TempDir(), "x")
	refuse(t, "acts on the whole grid", "secure", "issue", "--dir", dir, "--role", "member", "--names", "a", "--for", "m1",
		"--out", out)
	refuse(t, "only members are called", "secure", "issue", "--dir", dir, "--role", "holder", "--host", "a", "--for", "m1",
		"--out", out)
	refuse(t, "nothing is overwritten", "secure", "issue", "--dir", dir, "--role", "holder", "--for", "m1", "--out", web)
	refuse(t, "snowgrid secure init", "secure", "issue", "--dir", web, "--role", "holder", "--for", "m1", "--out", out)
	refuse(t, "at most 64", "secure", "issue", "--dir", dir, "--role", "holder", "--for", strings.Repeat("x", 65),
		"--out", out)
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("a refused issue made %s", out)
	}
}

// TestNoNamesAreNotAll: an empty --names, as of a variable that is not set, is refused. It is no
// credential for all names.
func TestNoNamesAreNotAll(t *testing.T) {
	dir := secureDir(t)
	for _, names := range []string{"--names=", "--names=,", "--names=a,,b"} {
		out := filepath.Join(t.TempDir(), "x")
		for _, args := range [][]string{
			{"issue", "--dir", dir, "--role", "holder", "--for", "web", names, "--out", out},
			{"token", "--dir", dir, "--role", "holder", "--for", "web", names, "--ttl", "1h"},
		} {
			status, stdout, stderr := runCommand(t, append([]string{"secure"}, args...)...)
			if status == exitDone || stdout != "" || !strings.Contains(stderr, "0 bytes; give 1 to 255") {
				t.Errorf("%s %s: status %d, %q, %s", args[0], names, status, stdout, stderr)
			}
		}
		if _, err := os.Stat(out); !os.IsNotExist(err) {
			t.Errorf("%s made %s", names, out)
		}
	}
}

// TestSecureToken: stdout has the token alone, which members check by tokens.pub.
func TestSecureToken(t *testing.T) {
	dir := secureDir(t)
	refuse(t, "acts on the whole grid", "secure", "token", "--dir", dir, "--role", "admin", "--names", "a", "--for", "ops",
		"--ttl", "1h")
	text := succeed(t, "secure", "token", "--dir", dir, "--role", "holder", "--names", "orders-*", "--for", "ci",
		"--ttl", "24h")
	c, err := security.Load(security.Config{Dir: dir}, security.Member)
	if err != nil {
		t.Fatal(err)
	}
	p, err := token.NewVerifier(c).Peer(strings.TrimSuffix(text, "\n"))
	if err != nil || p.Role != security.Holder || p.Name != "ci" || p.MayUse("bills") {
		t.Errorf("%v, %v", p, err)
	}
	args := []string{"secure", "token", "--dir", dir, "--for", "ci"}
	for says, more := range map[string]string{
		"must be one of": "--role member --ttl 24h", "--ttl": "--role reader", "at most 2160h": "--role reader --ttl 2161h",
	} {
		status, stdout, stderr := runCommand(t, append(args, strings.Fields(more)...)...)
		if status == exitDone || stdout != "" || !strings.Contains(stderr, says) {
			t.Errorf("%s: status %d, %q, %s", more, status, stdout, stderr)
		}
	}
}

// TestSecureRotate: each step names the files to copy and the next step, and a step out of turn is
// refused with the one that is due.
func TestSecureRotate(t *testing.T) {
	dir := secureDir(t)
	rotate := func(args ...string) []string { return append([]string{"secure", "rotate", "--dir", dir}, args...) }
	for _, step := range []struct {
		args    string
		refused bool
		says    string
	}{
		{"authority --finish", true, "begin one with snowgrid secure rotate authority"},
		{"authority", false, "snowgrid secure rotate certificates --dir " + dir},
		{"authority --finish", true, "rotate certificates first"},
		{"certificates", false, "snowgrid secure rotate authority --dir " + dir + " --finish"},
		{"authority --finish", false, "Copy " + dir + "/ca.crt"},
		{"gossip", false, "does not encrypt yet"},
		{"gossip --finish", true, "once more"},
		{"gossip", false, "--finish"},
		{"gossip --finish", false, "Copy " + dir + "/gossip.keys"},
		{"tokens", false, "Copy " + dir + "/tokens.pub"},
		{"tokens --finish", false, "refused from then on"},
	} {
		if step.refused {
			refuse(t, step.says, rotate(strings.Fields(step.args)...)...)
		} else if out := succeed(t, rotate(strings.Fields(step.args)...)...); !strings.Contains(out, step.says) {
			t.Errorf("%s: it should say %q, and says\n%s", step.args, step.says, out)
		}
	}
	for name, mode := range filesOf(t, dir) {
		if want := os.FileMode(0o600); (strings.HasSuffix(name, ".key") || name == "gossip.keys") && mode != want {
			t.Errorf("%s has permissions %v", name, mode)
		}
	}
	if status, _, stderr := runCommand(t, rotate("certificates", "--finish")...); status != exitUsage ||
		!strings.Contains(stderr, "one step") {
		t.Errorf("status %d, %s", status, stderr)
	}
	out := succeed(t, "secure", "show", "--dir", dir)
	for _, want := range []string{"ca.crt", "authority", "member.crt", "364", "gossip, encrypts", "tokens, newest",
		"ca.key, tokens.key: keep only where"} {
		if !strings.Contains(out, want) {
			t.Errorf("show has no %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "warning") {
		t.Errorf("warnings about a fresh directory:\n%s", out)
	}
}

// TestSecurePack: a process's directory goes through one value and is the same; nothing else is packed or written.
func TestSecurePack(t *testing.T) {
	dir, m1, out := secureDir(t), filepath.Join(t.TempDir(), "m1"), filepath.Join(t.TempDir(), "security")
	succeed(t, "secure", "issue", "--dir", dir, "--role", "member", "--for", "m1", "--out", m1)
	packed := succeed(t, "secure", "pack", "--dir", m1)
	t.Setenv("SNOWGRID_SECURITY", packed)
	for range 2 { // the second replaces
		succeed(t, "secure", "unpack", "--out", out, "--owner", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()))
		if want, got := filesOf(t, m1), filesOf(t, out); !maps.Equal(want, got) {
			t.Errorf("unpacked %v, want %v", got, want)
		}
	}
	for name := range filesOf(t, m1) {
		want, _ := os.ReadFile(filepath.Join(m1, name))
		if got, err := os.ReadFile(filepath.Join(out, name)); err != nil || string(got) != string(want) {
			t.Errorf("%s: %v, %q", name, err, got)
		}
	}
	refuse(t, "belongs on no server", "secure", "pack", "--dir", dir)
	refuse(t, "ca.crt", "secure", "pack", "--dir", t.TempDir())
	refuse(t, "no such file", "secure", "pack", "--dir", filepath.Join(dir, "none"))
	refuse(t, "65532:65532", "secure", "unpack", "--out", out, "--owner", "root")
	var files map[string]string
	if err := json.Unmarshal([]byte(packed), &files); err != nil {
		t.Fatal(err)
	}
	with := func(name, content string) string {
		other := maps.Clone(files)
		if other[name] = content; content == "-" {
			delete(other, name)
		}
		text, err := json.Marshal(other)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for says, value := range map[string]string{
		"SNOWGRID_SECURITY is not set": "", "not a JSON object": "secret text",
		"is not a file of credentials":                     with("../x", "y"),
		"member.crt and member.key do not belong together": with("member.key", "-"),
		"member.key has no certificate":                    with("member.crt", "-"),
		"without ca.crt":                                   with("ca.crt", "-"),
		"gossip.keys is empty":                             with("gossip.keys", "\n"),
		`"ca.key" is not a file`:                           with("ca.key", "y"),
		"more than":                                        with("tokens.pub", strings.Repeat("x", 1<<20)),
	} {
		t.Setenv("SNOWGRID_SECURITY", value)
		out := filepath.Join(t.TempDir(), "none")
		refuse(t, says, "secure", "unpack", "--out", out)
		if _, _, stderr := runCommand(t, "secure", "unpack", "--out", out); strings.Contains(stderr, "secret text") {
			t.Errorf("the error has the value: %s", stderr)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: the directory was made", says)
		}
	}
}
