//go:build unix

package main

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/loopback"
	"github.com/snowgrid/snowgrid/security"
)

// commandRow is a command at a secured grid, with its outcome.
type commandRow struct {
	args   string        // see securedGrid.line
	says   string        // a part of its output as an admin
	status int           // as an admin
	needs  security.Role // lowest role; lower ones are denied
	local  bool          // it calls no member
}

const (
	testCode    = "000102030405060708090a0b0c0d0e0f"
	unknownDisk = "0123456789abcdef"
)

// commandRows has a row for each command, in the order in which they run. A new command needs
// one, so that it is shown to use the credentials of the command line and of the environment.
var commandRows = map[string]commandRow{
	"alive":             {args: "--addr {member}", says: "alive"},
	"next":              {args: "orders -n 3", says: "\n", needs: security.Holder},
	"status":            {says: "settled", needs: security.Reader},
	"members list":      {args: "--wide", says: "NAME", needs: security.Reader},
	"sequencers list":   {says: "orders", needs: security.Reader},
	"sequencers remove": {args: "--unused-for 1h --dry-run", says: "0 sequencers unused", needs: security.Admin},
	"holders":           {args: "orders", says: "logical nodes", needs: security.Reader},
	"top":               {args: "-n 1", says: "orders", needs: security.Reader},
	"number":            {args: "--set web --data-dir {dir}/number", says: "1\n", needs: security.Holder},
	"identity list":     {says: "web", needs: security.Reader},
	"identity next":     {args: "--set web", says: "2\n", needs: security.Holder},
	"identity apply":    {args: "2 --code " + testCode + " --set web", says: "number 2", needs: security.Holder},
	"identity register": {args: "2 --code " + testCode + " --set web", says: "incarnation", needs: security.Holder},
	"identity import":   {args: "7 --set spare", says: "next number is 8", needs: security.Admin},
	"identity clean":    {args: "7 --set spare --force", says: "removed 1 of 1", needs: security.Admin},
	"identity drop":     {args: "--set spare", says: "continues with 8", needs: security.Admin},
	"settings show":     {says: "voters", needs: security.Reader},
	"settings set":      {args: "window=20s", says: "window      20s", needs: security.Admin},
	"quota list":        {says: "no quotas", needs: security.Reader},
	"quota set":         {args: "q-* --names 5", says: "q-*", needs: security.Admin},
	"quota remove":      {args: "q-*", says: "no quotas", needs: security.Admin},
	"keyring list":      {says: "", needs: security.Admin},
	"keyring install":   {args: "@{dir}/new.key", says: "", needs: security.Admin},
	"keyring use":       {args: "@{dir}/new.key", says: "", needs: security.Admin},
	"keyring remove":    {args: "@{dir}/old.key", says: "", needs: security.Admin},
	"debug bundle": {args: "-f {dir}/{run}-bundle.tar.gz --profile 0s", status: exitDegraded, // no ops listener
		says: "bundle.tar.gz", needs: security.Reader},
	"export":         {says: "snowgrid_export", needs: security.Reader},
	"import":         {args: "{dir}/export", says: "imported 1 sequencer", needs: security.Admin},
	"destroy":        {args: "orders --yes", says: "destroyed orders", needs: security.Admin},
	"forget":         {args: unknownDisk, says: unknownDisk, status: exitFailed, needs: security.Admin},
	"take-anchor":    {says: "anchor", status: exitFailed, needs: security.Admin},
	"init":           {args: "--addr {member}", says: "nothing was done", status: exitFailed, needs: security.Admin},
	"members remove": {args: "{other}", says: "left", needs: security.Admin},

	"wait": {args: "ready", says: "ready: 3 of 3 members", needs: security.Reader},

	"completion": {local: true}, "man": {local: true}, "__complete": {local: true},
	"context add": {local: true}, "context use": {local: true}, "context list": {local: true},
	"context remove": {local: true},
	"demo":           {local: true}, "agent": {local: true}, "decode": {local: true}, "version": {local: true},
	"migrate": {local: true}, "verify": {local: true}, "sql": {local: true},
	"recover": {local: true}, "keyring generate": {local: true},
	"config check": {local: true}, "config print": {local: true}, "config reference": {local: true},
	"secure init": {local: true}, "secure issue": {local: true}, "secure token": {local: true},
	"secure show": {local: true}, "secure rotate": {local: true}, "secure pack": {local: true},
	"secure unpack": {local: true},
}

// commandOrder is the order of the rows with calls.
var commandOrder = []string{
	"alive", "next", "wait", "status", "members list", "sequencers list", "sequencers remove", "holders", "top", "number",
	"identity list", "identity next", "identity apply", "identity register",
	"identity import", "identity clean", "identity drop", "settings show", "settings set", "quota list", "quota set",
	"quota remove", "keyring list", "keyring install", "keyring use", "keyring remove", "debug bundle",
	"export", "import", "destroy", "forget", "take-anchor", "init", "members remove",
}

// TestEveryCommandHasARow: each command is shown to work at a secured grid, or calls no member.
// Those that call one have the flags of credentials, each with its variable.
func TestEveryCommandHasARow(t *testing.T) {
	parser, err := newParser(&commands{}, newSources(), kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, leaf := range parser.Model.Leaves(false) {
		name := strings.TrimPrefix(leaf.Path(), "snowgrid ")
		known[name] = true
		row, found := commandRows[name]
		if !found {
			t.Errorf("snowgrid %s has no row in commandRows: add one, and its name to commandOrder", name)
			continue
		}
		flags := map[string]bool{}
		for _, f := range leaf.Flags {
			flags[f.Name] = len(f.Envs) == 1
		}
		for _, flag := range []string{"security-dir", "tls-cert", "tls-key", "tls-ca", "tls-server-name", "identity-rules",
			"role", "token"} {
			if !row.local && !flags[flag] {
				t.Errorf("snowgrid %s has no flag --%s with a variable: embed gridFlags or accessFlags", name, flag)
			}
		}
	}
	ordered := map[string]bool{}
	for _, name := range commandOrder {
		ordered[name] = true
	}
	for name, row := range commandRows {
		if !known[name] || row.local == ordered[name] {
			t.Errorf("snowgrid %s: no such command, or it is missing in commandOrder", name)
		}
	}
}

// securedGrid is a grid of three agents, each with a directory of its own.
type securedGrid struct {
	t      *testing.T
	dir    string // of everything
	issuer string // the directory of snowgrid secure init
	agents []*agent
	runs   int // commands so far
}

// startSecured starts the agents of a secured grid.
func startSecured(t *testing.T) *securedGrid {
	t.Helper()
	long.NotShort(t, "it runs several agents as processes")
	g := &securedGrid{t: t, dir: t.TempDir()}
	g.issuer = filepath.Join(g.dir, "security")
	succeed(t, "secure", "init", "--out", g.issuer)
	if err := os.WriteFile(filepath.Join(g.dir, "new.key"), []byte(succeed(t, "keyring", "generate")), 0o600); err != nil {
		t.Fatal(err)
	}
	writeExport(t, filepath.Join(g.dir, "export"),
		exportLine{Settings: &exportedSettings{Backups: 1, Window: 1000, Voters: 5}}, defaultName(t, "imported"))
	copyOver(t, filepath.Join(g.issuer, security.GossipKeysFile), filepath.Join(g.dir, "old.key"))
	gossip, err := loopback.FreeAddrs(3)
	if err != nil {
		t.Fatal(err)
	}
	g.agents = make([]*agent, len(gossip))
	var starting sync.WaitGroup
	for i, name := range []string{"m1", "m2", "m3"} {
		dir := filepath.Join(g.dir, name)
		succeed(t, "secure", "issue", "--dir", g.issuer, "--role", "member", "--for", name, "--out", dir)
		starting.Go(func() {
			g.agents[i] = startAgent(t, gossip[i], "--expect", "3", "--join", strings.Join(gossip, ","), "--member-name", name,
				"--security-dir", dir)
		})
	}
	starting.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return g
}

// line returns the command line of a row. In its arguments {dir}, {member}, {other} and {run} are
// replaced.
func (g *securedGrid) line(name string, more ...string) []string {
	row := commandRows[name]
	g.runs++
	words := strings.NewReplacer("{dir}", g.dir, "{run}", strconv.Itoa(g.runs), "{member}", g.agents[0].api, "{other}",
		"m3").Replace(name + " " + row.args)
	line := strings.Fields(words)
	if !strings.Contains(row.args, "--addr") {
		line = append(line, "--addr", apis(g.agents))
	}
	return append(line, more...)
}

// everyCommand runs every command as a reader and then as an admin, with the flags that as
// returns.
func (g *securedGrid) everyCommand(as func(role security.Role) []string) {
	for _, name := range commandOrder {
		row := commandRows[name]
		if row.needs == security.Admin || row.needs == security.Holder {
			status, stdout, stderr := runCommand(g.t, g.line(name, as(security.Reader)...)...)
			if status != exitFailed || stdout != "" || strings.Count(stderr, "\n") != 1 ||
				!strings.Contains(stderr, "needs the role ") {
				g.t.Errorf("%s as a reader: status %d; it should be denied in one line, and says\n%s%s", name, status,
					stdout, stderr)
			}
		}
		if row.needs == security.Admin {
			if status, _, stderr := runCommand(g.t, g.line(name, as(security.Holder)...)...); status != exitFailed ||
				!strings.Contains(stderr, "needs the role admin") {
				g.t.Errorf("%s as a holder: status %d, %s", name, status, stderr)
			}
		}
		if row.needs == security.Reader {
			if status, stdout, stderr := runCommand(g.t, g.line(name, as(security.Reader)...)...); status != row.status ||
				!strings.Contains(stdout+stderr, row.says) {
				g.t.Errorf("%s as a reader: status %d, want %d with %q\n%s%s", name, status, row.status, row.says, stdout, stderr)
			}
		}
		if status, stdout, stderr := runCommand(g.t, g.line(name, as(security.Admin)...)...); status != row.status ||
			!strings.Contains(stdout+stderr, row.says) {
			g.t.Errorf("%s as an admin: status %d, want %d with %q\n%s%s", name, status, row.status, row.says, stdout, stderr)
		}
	}
}

// TestEveryCommandByFlag: every command reaches a secured grid with --security-dir, and one
// that a role may not run is denied in one line.
func TestEveryCommandByFlag(t *testing.T) {
	t.Parallel()
	g := startSecured(t)
	g.everyCommand(func(role security.Role) []string {
		return []string{"--security-dir", g.issuer, "--role", string(role)}
	})
}

// TestEveryCommandByEnvironment: the same by SNOWGRID_SECURITY_DIR, with directories that have
// the certificate of one role each.
func TestEveryCommandByEnvironment(t *testing.T) {
	long.Only(t, "it takes seconds")
	g := startSecured(t)
	dirs := map[security.Role]string{}
	for _, role := range []security.Role{security.Reader, security.Holder, security.Admin} {
		dirs[role] = filepath.Join(g.dir, string(role))
		succeed(t, "secure", "issue", "--dir", g.issuer, "--role", string(role), "--for", "ops", "--out", dirs[role])
	}
	g.everyCommand(func(role security.Role) []string {
		t.Setenv("SNOWGRID_SECURITY_DIR", dirs[role])
		return nil
	})
}
