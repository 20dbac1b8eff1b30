package main

import (
	"bytes"
	"encoding/json"
	"github.com/snowgrid/snowgrid/internal/long"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"
)

// writeConfig writes a configuration file and returns its path.
func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestConfigFileErrors: a mistake in a file is one line with the file, the line, the key,
// the value and the remedy, in the agent and in config check, and exit status 2.
func TestConfigFileErrors(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	for text, want := range map[string]string{
		"expct: 3\n":                     `f.yaml:1: expct: "3": unknown key; did you mean expect?`,
		"name: a\nlog_level: debug\n":    `f.yaml:2: log_level: "debug": unknown key; did you mean log-level?`,
		"config: x.yaml\n":               `f.yaml:1: config: "x.yaml": unknown key; all keys are in snowgrid config reference`,
		"expect: three\n":                `f.yaml:1: expect: "three": give a whole number`,
		"expect: 3.5\n":                  `f.yaml:1: expect: "3.5": give a whole number`,
		"expect: [3, 4]\n":               `f.yaml:1: expect: "3,4": give one value, not a list`,
		"expect: 5000\n":                 `f.yaml:1: expect: "5000": expect is 5000; give the number of members that form the grid, 1 to 1000`,
		"expect: 3\nexpect: 4\n":         `f.yaml:2: expect: the key is on line 1 already`,
		"expect:\n":                      `f.yaml:1: expect: the key has no value`,
		"\n\nwindow: 15\n":               `f.yaml:3: window: "15": give a duration with its unit`,
		"window: 500ms\n":                `f.yaml:1: window: "500ms": window is 500ms; give 1s to 1h0m0s`,
		"partitions: 9000\n":             `f.yaml:1: partitions: "9000": partitions is 9000; give 1 to 8191`,
		"backups: -1\n":                  `f.yaml:1: backups: "-1": give 0 for none, 1 to 32767`,
		"name: \"\\x01\"\n":              `f.yaml:1: name: "\x01": invalid value`,
		"api-addr: nowhere\n":            `f.yaml:1: api-addr: "nowhere": "nowhere" is not host:port`,
		"join: [a:1, \"b c\"]\n":         `f.yaml:1: join: "a:1,b c": join address "b c" is not host:port`,
		"log-format: xml\n":              `f.yaml:1: log-format: "xml": give text or json`,
		"log-level: loud\n":              `f.yaml:1: log-level: "loud": give debug, info, warn or error`,
		"floor: soon\n":                  `f.yaml:1: floor: "soon": neither a time nor an ID`,
		"floor: 123\n":                   `f.yaml:1: floor: "123": an ID's time depends on its sequencer's epoch; add the epoch`,
		"epoch: soon\n":                  `f.yaml:1: epoch: "soon": "soon" is not a time; write it as`,
		"expect: 1\nidentity-set: web\n": `f.yaml:2: identity-set: "web": set "web" needs a data directory to keep the number in; set data-dir`,
		"anchor: s3://x\n":               `f.yaml:1: anchor: "s3://x": give file:DIR`,
		"anchor-ahead: 10s\n":            `f.yaml:1: anchor-ahead: "10s": anchor-ahead is 10s and anchor is not set`,
		"gossip-key: abc\n":              `f.yaml:1: gossip-key: this is not a key; give 16, 24 or 32 random bytes`,
		"gossip-timeout: 2s\n":           `f.yaml:1: gossip-`,
		"timeout: soon\n":                `f.yaml:1: timeout: "soon": give a duration with its unit`,
		"timeout: 0s\n":                  `f.yaml:1: timeout: "0s": give a duration above 0, such as 10s`,
		"leave-timeout: -5s\n":           `f.yaml:1: leave-timeout: "-5s": give a duration above 0, such as 10s`,
		"addr: [a:1, b]\n":               `f.yaml:1: addr: "a:1,b": this is not host:port`,
		"addr: a:99999\n":                `f.yaml:1: addr: "a:99999": the port is "99999"; give 1 to 65535`,
		"role: boss\n":                   `f.yaml:1: role: "boss": give admin, holder, reader or member`,
		"raft-addr: 127.0.0.1:99999\n":   `f.yaml:1: raft-addr: "127.0.0.1:99999": "127.0.0.1:99999" is not host:port: the port is "99999"; give 0 to 65535`,
		"advertise-host: 0.0.0.0\n":      `f.yaml:1: advertise-host: "0.0.0.0": "0.0.0.0" is the address of no machine; give the host`,
		"iteration.interval.ms: 1\n":     `f.yaml:1: iteration.interval.ms: "1": give a whole number, 100 to 60000`,
		"expect: 1\naddress.2: \"\"\n":   `f.yaml:2: address.2: missing or empty; give the address of seed 2`,
		"expect: 1\nid.2: x\n":           `f.yaml:2: address.2: missing or empty; give the address of seed 2`,
		"gossip-interval: 1s\niteration.interval.ms: 2000\n": `f.yaml:2: iteration.interval.ms: the key gossip-interval on line 1 sets the same`,
		"":                `f.yaml: the file has no keys`,
		"a = 1":           `f.yaml:1: a: "1": unknown key; all keys are in snowgrid config reference`,
		"insecure: yes\n": `f.yaml:1: insecure: "yes": give true or false`,
		"debug: on\n":     `f.yaml:1: debug: "on": give true or false`,
		"insecure: 1\n":   `f.yaml:1: insecure: "1": give true or false`,
	} {
		path := writeConfig(t, text)
		for _, args := range [][]string{{"agent", "--config", path}, {"config", "check", path}} {
			status, stdout, stderr := runCommand(t, args...)
			want := "snowgrid: " + strings.Replace(want, "f.yaml", path, 1)
			stderr = fileColumn.ReplaceAllString(stderr, "$1:")
			if status != exitUsage || stdout != "" || !strings.HasPrefix(stderr, want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("%q: %v: status %d, stdout %q, stderr\n%s, want\n%s", text, args[0], status, stdout, stderr, want)
			}
		}
	}
}

// fileColumn matches the place of a mistake in a file, with its column.
var fileColumn = regexp.MustCompile(`(?m)^(snowgrid: /\S+?:[0-9]+):[0-9]+:`)

// TestConfigMistakes: each mistake of a file is reported in one run, with its column, as text
// and as JSON.
func TestConfigMistakes(t *testing.T) {
	path := writeConfig(t, "expct: 3\nwindow: 15\njoin: []\nname:\nlog-format:   xml\n")
	lines := []string{
		path + `:4:6: name: the key has no value; write one after the colon, or remove the line`,
		path + `:1:1: expct: "3": unknown key; did you mean expect? All keys are in snowgrid config reference`,
		path + `:2:9: window: "15": give a duration with its unit, such as 15s or 2m`,
		path + `:5:15: log-format: "xml": give text or json`,
	}
	for _, args := range [][]string{{"agent", "--config", path}, {"config", "check", path}, {"status", "--config", path}} {
		status, stdout, stderr := runCommand(t, args...)
		if want := "snowgrid: " + strings.Join(lines, "\nsnowgrid: ") + "\n"; status != exitUsage || stdout != "" ||
			stderr != want {
			t.Errorf("%s: status %d, stdout %q, stderr\n%swant\n%s", args[0], status, stdout, stderr, want)
		}
	}
	status, stdout, _ := runCommand(t, "config", "check", path, "-o", "json")
	var out checked
	if err := json.Unmarshal([]byte(stdout), &out); err != nil || status != exitUsage || out.OK || out.File != path ||
		len(out.Mistakes) != 4 {
		t.Fatalf("status %d: %v\n%s", status, err, stdout)
	}
	want := mistake{Line: 2, Column: 9, Key: "window", Value: "15",
		Problem: "give a duration with its unit, such as 15s or 2m"}
	if out.Mistakes[2] != want {
		t.Errorf("%+v, want %+v", out.Mistakes[2], want)
	}
	status, stdout, stderr := runCommand(t, "config", "check", writeConfig(t, "expect: 1\nserver.threads: 5\n"),
		"-o", "json")
	if err := json.Unmarshal([]byte(stdout), &out); err != nil || status != exitDone || !out.OK ||
		len(out.Mistakes) != 0 || len(out.Warnings) != 1 || stderr != "" {
		t.Errorf("status %d: %v\n%s%s", status, err, stdout, stderr)
	}
}

// TestConfigContradictions: keys that contradict each other are each reported in one run, as are
// values that are out of their limits, and one cause has one line.
func TestConfigContradictions(t *testing.T) {
	text := "expect: 5000\nwindow: 500ms\nvoters: 4\nidentity-set: web\nanchor: s3://x\nanchor-ahead: 10s\n" +
		"gossip-interval: 1s\ngossip-timeout: 2s\npprof: true\ntls-cert: a.pem\ngossip-key: abc\n" +
		"raft-addr: nowhere\napi-addr: 10.0.0.1:7948\njoin: \"b c\"\nbackups: -1\nfloor: soon\nidentity-rules: /none\n"
	path := writeConfig(t, text)
	want := []string{"expect", "window", "voters", "identity-set", "anchor", "gossip-timeout", "pprof", "tls-cert",
		"gossip-key",
		"raft-addr", "join", "backups", "floor", "identity-rules"}
	for _, args := range [][]string{{"agent", "--config", path}, {"config", "check", path}} {
		status, stdout, stderr := runCommand(t, args...)
		lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
		if status != exitUsage || stdout != "" || len(lines) != len(want) {
			t.Errorf("%s: status %d, %d lines, want %d:\n%s%s", args[0], status, len(lines), len(want), stdout, stderr)
		}
		for _, key := range want {
			if !slices.ContainsFunc(lines, func(line string) bool {
				return strings.HasPrefix(line, "snowgrid: "+path+":") && strings.Contains(line, ": "+key+": ")
			}) {
				t.Errorf("%s: no line about %s:\n%s", args[0], key, stderr)
			}
		}
	}
	_, _, stderr := runCommand(t, "config", "check",
		writeConfig(t, "expect: 5000\napi-addr: 10.0.0.1:7948\nsecurity-dir: "+t.TempDir()+"\n"))
	if strings.Count(stderr, "\n") != 3 || !strings.Contains(stderr, ": api-addr: ") ||
		!strings.Contains(stderr, ": security-dir: ") {
		t.Errorf("limits, reach and files:\n%s", stderr)
	}
}

// TestOriginalFileIsRead: the file of the original is key=value, and need not be rewritten.
func TestOriginalFileIsRead(t *testing.T) {
	path := writeConfig(t,
		"# seeds\niteration.interval.ms=700\naddress=127.0.0.1\nprotocol.port=7946\naddress.1=10.0.0.1\nprotocol.port.1=7946\n")
	parsed, err := parse(t, "agent", "--config", path)
	if err != nil || parsed.Agent.GossipAddr != "127.0.0.1:7946" ||
		!slices.Equal(parsed.Agent.Join, []string{"10.0.0.1:7946"}) {
		t.Errorf("%+v, %v", parsed.Agent.Join, err)
	}
	if status, _, stderr := runCommand(t, "config", "check", writeConfig(t,
		"iteration.interval.ms=1\n")); status != exitUsage || !strings.Contains(stderr, ":1:23: iteration.interval.ms: ") {
		t.Errorf("status %d: %s", status, stderr)
	}
}

// TestConfigSources: mistakes in the other sources name these.
func TestConfigSources(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct{ variable, value, want string }{
		{"SNOWGRID_EXPECT", "x", "SNOWGRID_EXPECT=x: give a whole number"},
		{"SNOWGRID_EXPECT", "5000", "SNOWGRID_EXPECT=5000: expect is 5000; give"},
		{"SNOWGRID_BACKUPS", "-1", "SNOWGRID_BACKUPS=-1: give 0 for none"},
		{"SNOWGRID_GOSSIP_KEY", "abc", "SNOWGRID_GOSSIP_KEY: this is not a key"},
		{"SNOWGRID_EXPECT_FILE", dir, "SNOWGRID_EXPECT_FILE=" + dir + ": this is not a regular file"},
		{"SNOWGRID_EXPECT_FILE", dir + "/none", "SNOWGRID_EXPECT_FILE=" + dir +
			"/none: no such file or directory; give the path"},
		{"SNOWGRID_CONFIG_FILE", dir, "SNOWGRID_CONFIG_FILE=" + dir +
			": the variable for the configuration file's path is SNOWGRID_CONFIG"},
		{"SNOWGRID_CONFIG", dir, dir + ": this is a directory"},
	} {
		t.Run(test.variable+"="+test.value, func(t *testing.T) {
			t.Setenv(test.variable, test.value)
			if status, _, stderr := runCommand(t, "agent"); status != exitUsage ||
				!strings.HasPrefix(stderr, "snowgrid: "+test.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("status %d: %s, want %s", status, stderr, test.want)
			}
		})
	}
	t.Run("both", func(t *testing.T) {
		t.Setenv("SNOWGRID_EXPECT", "1")
		t.Setenv("SNOWGRID_EXPECT_FILE", dir)
		if status, _, stderr := runCommand(t, "agent"); status != exitUsage ||
			!strings.Contains(stderr, "SNOWGRID_EXPECT is set as well; unset one") {
			t.Errorf("status %d: %s", status, stderr)
		}
	})
	if status, _, stderr := runCommand(t, "agent", "--expect", "5000"); status != exitUsage ||
		!strings.HasPrefix(stderr, "snowgrid: --expect=5000: expect is 5000; give") &&
			!strings.HasPrefix(stderr, "snowgrid: --expect: expect is 5000; give") {
		t.Errorf("flag: status %d: %s", status, stderr)
	}
}

// TestSecretsInOpenFiles: a file that any user may read or change cannot set a secret, and can
// set other keys.
func TestSecretsInOpenFiles(t *testing.T) {
	secret, other := writeConfig(t, "gossip-key: "+testKey+"\n"), writeConfig(t, "expect: 3\n")
	for _, path := range []string{secret, other} {
		if err := os.Chmod(path, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if status, _, stderr := runCommand(t, "config", "check", other); status != exitDone {
		t.Errorf("without a secret: status %d: %s", status, stderr)
	}
	for _, mode := range []os.FileMode{0o644, 0o666, 0o602} {
		if err := os.Chmod(secret, mode); err != nil {
			t.Fatal(err)
		}
		status, _, stderr := runCommand(t, "config", "check", secret)
		if status != exitUsage || strings.Contains(stderr, testKey) || !strings.Contains(stderr,
			":1:13: gossip-key: this key is a secret, and every user may read "+secret) ||
			!strings.Contains(stderr, "run chmod 600 "+secret) {
			t.Errorf("mode %o: status %d: %s", mode, status, stderr)
		}
	}
	if err := os.Chmod(secret, 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SNOWGRID_GOSSIP_KEY_FILE", secret)
	if status, _, stderr := runCommand(t, "config", "check", other); status != exitUsage ||
		!strings.Contains(stderr, "run chmod o-w "+secret) {
		t.Errorf("variable: status %d: %s", status, stderr)
	}
}

// TestConfigPrecedence: flag, environment, file, default.
func TestConfigPrecedence(t *testing.T) {
	path := writeConfig(t, "name: file\nexpect: 3\n\nwindow: 20s\ngossip-key: "+testKey+"\niteration.interval.ms: 2000\n")
	t.Setenv("SNOWGRID_NAME", "environment")
	t.Setenv("SNOWGRID_EXPECT", "4")
	want := map[string][2]string{
		"name": {"flag", "--name"}, "expect": {"4", "environment SNOWGRID_EXPECT"}, "window": {"20s", path + ":4"},
		"gossip-key": {"(secret)", path + ":5"}, "gossip-interval": {"2s", path + ":6"}, "log-level": {"info", "default"},
		"backups": {"(the grid's setting, or 1)", "default"}, "addr": {"127.0.0.1:7948", "default"},
	}
	args := []string{"config", "print", "--config", path, "--name", "flag"}
	read := map[string]func(string) ([]setting, error){
		"json": func(text string) (out []setting, err error) { return out, json.Unmarshal([]byte(text), &out) },
		"yaml": func(text string) (out []setting, err error) { return out, yaml.Unmarshal([]byte(text), &out) },
	}
	for format, decode := range read {
		status, stdout, stderr := runCommand(t, append(args, "-o", format)...)
		settings, err := decode(stdout)
		if status != exitDone || err != nil || len(settings) != len(allKeys(t)) || strings.Contains(stdout, testKey) {
			t.Fatalf("%s: status %d, error %v, %s%s", format, status, err, stdout, stderr)
		}
		found := 0
		for _, s := range settings {
			if w, listed := want[s.Key]; listed {
				found++
				if s.Value != w[0] || s.Origin != w[1] {
					t.Errorf("%s: %+v, want %q", format, s, w)
				}
			}
		}
		if found != len(want) {
			t.Errorf("%s: %d of %d keys", format, found, len(want))
		}
	}
	status, stdout, _ := runCommand(t, args...)
	if status != exitDone || strings.Contains(stdout, testKey) ||
		!strings.Contains(stdout, "environment SNOWGRID_EXPECT\n") || !strings.Contains(stdout, path+":4\n") {
		t.Errorf("status %d:\n%s", status, stdout)
	}
}

// TestConfigOfClients: commands that use a grid take its addresses from the file of an
// agent, and none of the keys of the agent.
func TestConfigOfClients(t *testing.T) {
	path := writeConfig(t, "addr: [127.0.0.1:1, 127.0.0.1:2]\ntimeout: 2s\nepoch: twitter\nname: shop\n")
	status, _, stderr := runCommand(t, "status", "--config", path)
	if status != exitUnreachable || !strings.Contains(stderr, "127.0.0.1:1") || !strings.Contains(stderr, "127.0.0.1:2") {
		t.Errorf("status %d: %s", status, stderr)
	}
	var parsed commands
	parser, err := newParser(&parsed, newSources())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse([]string{"next", "orders", "--config", path}); err != nil || len(parsed.Next.Addr) != 2 ||
		parsed.Next.Epoch != nil {
		t.Errorf("%+v, error %v", parsed.Next, err)
	}
	if status, _, stderr := runCommand(t, "status", "--config", writeConfig(t, "expct: 3\n")); status != exitUsage ||
		!strings.Contains(stderr, "did you mean expect") {
		t.Errorf("an unknown key: status %d: %s", status, stderr)
	}
}

// TestConfigOfInitAndAlive: they read the file, as all commands that call members; alive asks
// the member beside it, and takes no address from there.
func TestConfigOfInitAndAlive(t *testing.T) {
	path := writeConfig(t, "addr: 127.0.0.1:1\nsecurity-dir: /nowhere\n")
	t.Setenv("SNOWGRID_CONFIG", path)
	for _, command := range []string{"init", "alive"} {
		if status, _, stderr := runCommand(t, command); status != exitUsage || !strings.Contains(stderr, "/nowhere") {
			t.Errorf("%s: status %d: %s", command, status, stderr)
		}
	}
	for command, want := range map[string]string{"init": "127.0.0.1:1", "alive": "127.0.0.1:7948"} {
		parsed, err := parse(t, command)
		if got := map[string]string{"init": parsed.Init.Addr, "alive": parsed.Alive.Addr}[command]; err != nil ||
			got != want {
			t.Errorf("%s asks %s, want %s; %v", command, got, want, err)
		}
	}
}

// TestConfigCheckStartsNothing: no directory is made.
func TestConfigCheckStartsNothing(t *testing.T) {
	dir := t.TempDir()
	path := writeConfig(t, "anchor: file:"+dir+"/anchor\ndata-dir: "+dir+"/data\nserver.threads: 5\n")
	status, stdout, stderr := runCommand(t, "config", "check", path)
	if status != exitDone || !strings.Contains(stdout, "server.threads has no effect") ||
		!strings.HasSuffix(stdout, path+": no errors\n") {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v, error %v", entries, err)
	}
}

// TestConfigReferenceIsCurrent: docs/configuration-keys.md is the page that this program prints.
func TestConfigReferenceIsCurrent(t *testing.T) {
	t.Parallel()
	_, page, _ := runCommand(t, "config", "reference")
	file, err := os.ReadFile("../../docs/configuration-keys.md")
	if err != nil || page == "" {
		t.Fatal(err)
	}
	if string(file) != page {
		t.Error("docs/configuration-keys.md is stale; run: go run ./cmd/snowgrid config reference > " +
			"docs/configuration-keys.md")
	}
	for _, k := range allKeys(t) {
		if !strings.Contains(page, "| `"+k.name+"` | `"+k.variable()+"` |") {
			t.Errorf("the page lacks %s", k.name)
		}
	}
}

// reloaderOf returns the reloader of an agent that was started with arguments, and its log.
func reloaderOf(t *testing.T, args ...string) (*reloader, *bytes.Buffer) {
	t.Helper()
	var parsed commands
	from := newSources()
	parser, err := newParser(&parsed, from)
	if err != nil {
		t.Fatal(err)
	}
	var ctx *kong.Context
	if ctx, err = parser.Parse(args); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	logger, level := parsed.Agent.logger(streams{err: &log})
	return newReloader(args, valuesOf(ctx, from), level, logger), &log
}

func TestReload(t *testing.T) {
	t.Parallel()
	path := writeConfig(t, "log-level: warn\nexpect: 3\n")
	rewrite := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, log := reloaderOf(t, "agent", "--config", path)
	steps := []struct {
		text  string
		level slog.Level
		logs  []string // parts of the log
	}{
		{"log-level: debug\nexpect: 3\n", slog.LevelDebug, []string{"configuration reloaded", "log-level: warn -> debug"}},
		{"log-level: debug\nexpect: 3\n", slog.LevelDebug, []string{"configuration reloaded", `changed=""`}},
		{"log-level: loud\nexpect: 3\n", slog.LevelDebug, []string{"configuration not reloaded", path + ":1:12: log-level: ",
			"loud", "give debug, info, warn or error"}},
		{"log-level: error\nexpct: 3\n", slog.LevelDebug, []string{"configuration not reloaded", path + ":2:1: expct"}},
		{"log-level: error\nexpect: 9999\n", slog.LevelDebug, []string{"configuration not reloaded", path + ":2:9: expect"}},
		{"", slog.LevelDebug, []string{"configuration not reloaded", path + ": the file has no keys"}},
		{"log-level: error\nexpect: 5\n", slog.LevelError, []string{"log-level: debug -> error", "running member keeps",
			"keys=expect", "restart the member"}},
		{"log-level: info\nexpect: 5\n", slog.LevelInfo, []string{"log-level: error -> info", "keys=expect"}},
	}
	for _, step := range steps {
		log.Reset()
		rewrite(step.text)
		r.reload()
		if r.level.Level() != step.level {
			t.Errorf("%q: level %v, want %v", step.text, r.level.Level(), step.level)
		}
		for _, part := range step.logs {
			if !strings.Contains(log.String(), part) {
				t.Errorf("%q: the log lacks %q:\n%s", step.text, part, log)
			}
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	log.Reset()
	if r.reload(); r.level.Level() != slog.LevelInfo || !strings.Contains(log.String(), "the file does not exist") {
		t.Errorf("without the file: level %v, log %s", r.level.Level(), log)
	}
}

// TestReloadKeepsFlags: a key that the command line sets is not changed by the file.
func TestReloadKeepsFlags(t *testing.T) {
	path := writeConfig(t, "log-level: warn\n")
	r, _ := reloaderOf(t, "agent", "--config", path, "--log-level", "info")
	if err := os.WriteFile(path, []byte("log-level: debug\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r.reload(); r.level.Level() != slog.LevelInfo {
		t.Errorf("level %v", r.level.Level())
	}
}
