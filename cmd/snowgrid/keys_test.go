package main

import (
	"context"
	"encoding/base64"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/kongdocs"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/security"
)

// keyRow has a value of a key that is not its default, and the value that results from it.
type keyRow struct {
	text  string // the value, as text
	with  string // lines of a file that the key needs besides
	field string // of grid.Config, "" for a key of the agent alone
	want  any    // in that field; a func(any) bool is asked
}

const testKey = "AAECAwQFBgcICQoLDA0ODw=="

// keyRows has a row for every key. A new key needs one here, so that it is shown to
// arrive from every source.
func keyRows(t *testing.T) map[string]keyRow {
	key, err := base64.StdEncoding.DecodeString(testKey)
	if err != nil {
		t.Fatal(err)
	}
	floor := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	isStore := func(v any) bool { _, is := v.(*store.File); return is }
	isFloor := func(v any) bool { at, is := v.(time.Time); return is && at.After(floor.Add(-50*365*24*time.Hour)) }
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules")
	if err := os.WriteFile(rules, []byte("subject:CN=web-* holder orders-*\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantRules := []security.Rule{{Match: "subject:CN=web-*", Role: security.Holder, Names: []security.Pattern{"orders-*"}}}
	return map[string]keyRow{
		"name":             {text: "shop", field: "Name", want: "shop"},
		"member-name":      {text: "web-7", field: "MemberName", want: "web-7"},
		"expect":           {text: "7", field: "Expect", want: 7},
		"backups":          {text: "3", field: "Backups", want: 3},
		"partitions":       {text: "31", field: "Partitions", want: 31},
		"window":           {text: "20s", field: "Window", want: 20 * time.Second},
		"gossip-addr":      {text: "127.0.0.2:1", field: "GossipAddr", want: "127.0.0.2:1"},
		"raft-addr":        {text: "127.0.0.2:2", field: "RaftAddr", want: "127.0.0.2:2"},
		"api-addr":         {text: "127.0.0.2:3", field: "APIAddr", want: "127.0.0.2:3"},
		"api-idle-timeout": {text: "45s", field: "APIIdleTimeout", want: 45 * time.Second},
		"advertise-host":   {text: "a.example", field: "AdvertiseHost", want: "a.example"},
		"join":             {text: "a:1,b:2", field: "Join", want: []string{"a:1", "b:2"}},
		"gossip-interval":  {text: "1s", field: "Gossip.Interval", want: time.Second},
		"gossip-timeout":   {text: "120ms", field: "Gossip.Timeout", want: 120 * time.Millisecond},
		"gossip-cycles":    {text: "5", field: "Gossip.Cycles", want: 5},
		"debug":            {text: "true", field: "Debug", want: true},
		"data-dir":         {text: "/var/lib/snowgrid", field: "DataDir", want: "/var/lib/snowgrid"},
		"identity-cluster": {text: "east", field: "Identity.Cluster", want: "east"},
		"identity-set":     {text: "members", field: "Identity.Set", want: "members"},
		"voters":           {text: "5", field: "Voters", want: 5},
		"zone":             {text: "east-1", field: "Zone", want: "east-1"},
		"floor":            {text: "2026-07-01T12:00:00Z", field: "Floor", want: floor},
		"epoch":            {text: "twitter", with: "floor: 1541815603606036480\n", field: "Floor", want: isFloor},
		"layout": {text: "twitter", with: "floor: 1541815603606036480\nepoch: twitter\n", field: "Floor",
			want: isFloor},
		"anchor":       {text: "file:" + dir, field: "Anchor", want: isStore},
		"anchor-ahead": {text: "40s", with: "anchor: file:" + dir + "\n", field: "AnchorAhead", want: 40 * time.Second},
		"gossip-key":   {text: testKey, field: "Security.GossipKey", want: key},
		"security-dir": {text: "/etc/snowgrid/security", field: "Security.Dir", want: "/etc/snowgrid/security"},
		"tls-cert": {text: "/c.crt", with: "tls-key: /c.key\ntls-ca: /ca.crt\n", field: "Security.CertFile",
			want: "/c.crt"},
		"tls-key": {text: "/c.key", with: "tls-cert: /c.crt\ntls-ca: /ca.crt\n", field: "Security.KeyFile",
			want: "/c.key"},
		"tls-ca": {text: "/ca.crt", with: "security-dir: /d\n", field: "Security.CAFile", want: "/ca.crt"},
		"tls-server-name": {text: "ids.example", with: "security-dir: /d\n", field: "Security.ServerName",
			want: "ids.example"},
		"identity-rules": {text: rules, with: "security-dir: /d\n", field: "Security.Rules", want: wantRules},
		"gossip-keys":    {text: "/g.keys", with: "security-dir: /d\n", field: "Security.GossipKeysFile", want: "/g.keys"},
		"token-keys":     {text: "/t.pub", with: "security-dir: /d\n", field: "Security.TokensFile", want: "/t.pub"},
		"insecure":       {text: "true", field: "Security.Insecure", want: true},
		"role":           {text: "reader"},
		"token":          {text: "a.b.c"},
		"ops-addr":       {text: "127.0.0.2:6"},
		"pprof":          {text: "true", with: "ops-addr: 127.0.0.1:0\n"},
		"log-level":      {text: "warn"},
		"log-format":     {text: "json"},
		"leave-timeout":  {text: "7s"},
		"addr":           {text: "127.0.0.2:4,127.0.0.2:5"},
		"timeout":        {text: "3s"},
	}
}

// programOnly are the fields of grid.Config without a key: values of a program that
// embeds a member.
var programOnly = []string{"FirstLife", "Logger", "Network", "Clock", "Discover", "Trace"}

// allKeys returns the keys of the command line.
func allKeys(t *testing.T) []key {
	t.Helper()
	parser, err := newParser(&commands{}, newSources(), kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	return keysOf(parser.Model)
}

// TestKeyNames: the flag, the variable and the key of the file have one name.
func TestKeyNames(t *testing.T) {
	keys := allKeys(t)
	if len(keys) < 20 {
		t.Fatalf("%d keys", len(keys))
	}
	for _, k := range keys {
		if !slices.Equal(k.flag.Envs, []string{k.variable()}) {
			t.Errorf("the variables of --%s are %v, and not %s", k.name, k.flag.Envs, k.variable())
		}
		if strings.HasSuffix(k.name, "-file") {
			t.Errorf("%s is the variable of a file with the value of another key", k.variable())
		}
		if k.flag.Help == "" {
			t.Errorf("--%s has no help", k.name)
		}
	}
	parser, err := newParser(&commands{}, newSources(), kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range kongdocs.Child(parser.Model.Node, "agent").Flags {
		known := slices.ContainsFunc(keys, func(k key) bool { return k.name == flag.Name })
		if !known && flag.Name != "help" && flag.Name != "config" {
			t.Errorf("--%s of the agent is not a key: it has no variable", flag.Name)
		}
	}
}

// TestEveryKeyBinds: each key, set by each source, has its value in the command and
// arrives in grid.Config; and each field of grid.Config has a key.
func TestEveryKeyBinds(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	rows := keyRows(t)
	fields := map[string]bool{}
	for _, k := range allKeys(t) {
		row, found := rows[k.name]
		if !found {
			t.Errorf("the key %s has no row in keyRows: give it a value, and the field of grid.Config that it sets", k.name)
			continue
		}
		fields[strings.Split(row.field, ".")[0]] = true
		t.Run(k.name, func(t *testing.T) { checkBinds(t, k, row) })
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[grid.Config]()) {
		if field.IsExported() && !fields[field.Name] && !slices.Contains(programOnly, field.Name) {
			t.Errorf("grid.Config.%s has no key: give the agent a flag for it, or add it to programOnly", field.Name)
		}
	}
}

func checkBinds(t *testing.T, k key, row keyRow) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	command := "agent"
	if k.client {
		command = "status"
	}
	base := []string{command}
	if row.with != "" {
		base = append(base, "--config="+write("with.yaml", row.with))
	}
	list := ""
	for _, item := range strings.Split(row.text, ",") {
		list += "\n  - " + item
	}
	type given struct {
		args []string
		env  map[string]string
		from source
	}
	tests := map[string]given{
		"flag":        {args: append(slices.Clone(base), "--"+k.name+"="+row.text), from: fromFlag},
		"environment": {args: base, env: map[string]string{k.variable(): row.text}, from: fromEnvironment},
		"variable file": {args: base, env: map[string]string{k.variable() + "_FILE": write("value", row.text+"\n")},
			from: fromEnvironment},
		"file": {args: []string{command, "--config=" + write("f.yaml", row.with+k.name+": "+row.text+"\n")},
			from: fromFile},
		"SNOWGRID_CONFIG": {args: []string{command}, env: map[string]string{"SNOWGRID_CONFIG": filepath.Join(dir, "f.yaml")},
			from: fromFile},
	}
	if k.flag.IsSlice() {
		tests["list"] = given{args: []string{command, "--config=" + write("list.yaml", row.with+k.name+":"+list+"\n")},
			from: fromFile}
	}
	without, err := parsedValue(t, k, base)
	if err != nil || without.value == row.text {
		t.Fatalf("without the key it is %q, error %v: the row needs another value", without.value, err)
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for variable, text := range test.env {
				t.Setenv(variable, text)
			}
			got, err := parsedValue(t, k, test.args)
			if err != nil {
				t.Fatal(err)
			}
			if got.from.source != test.from || got.value == without.value || k.name != "layout" && got.value != row.text &&
				k.name != "epoch" {
				t.Errorf("%q from %v, want %q from %s", got.value, got.from, row.text, test.from)
			}
			if row.field == "" {
				return
			}
			cfg, err := got.commands.Agent.fields(nil)
			if err != nil {
				t.Fatal(err)
			}
			field := reflect.ValueOf(cfg)
			for _, part := range strings.Split(row.field, ".") {
				field = reflect.Indirect(field.FieldByName(part))
			}
			if check, is := row.want.(func(any) bool); is && !check(field.Interface()) ||
				!is && !reflect.DeepEqual(field.Interface(), row.want) {
				t.Errorf("grid.Config.%s is %v, want %v", row.field, field.Interface(), row.want)
			}
		})
	}
}

// keyCommands are the commands with keys, and `config print`, which lists them. A parser of every command
// takes several times as long to make.
type keyCommands struct {
	Agent  agentCommand  `cmd:""`
	Status statusCommand `cmd:""`
	Config configCommand `cmd:""`
}

// parsedKey is a key after a command line was parsed.
type parsedKey struct {
	commands *keyCommands
	value    string
	from     origin
}

func parsedValue(t *testing.T, k key, args []string) (parsedKey, error) {
	t.Helper()
	out := parsedKey{commands: &keyCommands{}}
	from := newSources()
	parser, err := newParser(out.commands, from, kong.Writers(io.Discard, io.Discard),
		kong.BindTo(t.Context(), (*context.Context)(nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := parser.Parse(args)
	if err != nil {
		return out, err
	}
	for _, flag := range ctx.Selected().Flags {
		if flag.Name == k.name {
			out.value, out.from = k.value(flag), from.origin(k)
		}
	}
	return out, nil
}

func TestNearestKey(t *testing.T) {
	known := names(allKeys(t))
	for name, want := range map[string]string{
		"expct": "expect", "log_level": "log-level", "logLevel": "log-level", "LOG-LEVEL": "log-level",
		"SNOWGRID_DATA_DIR": "data-dir",
		"dataDir":           "data-dir", "--join": "join", "backup": "backups", "gossip-address": "gossip-addr",
		"colour": "", "a": "", "config": "",
	} {
		if got := nearest(name, known); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestKeyOfField(t *testing.T) {
	for field, want := range map[string]string{
		"Name": "name", "DataDir": "data-dir", "APIAddr": "api-addr", "Gossip.Interval": "gossip-interval",
		"GossipKey": "gossip-key", "TLS": "tls",
	} {
		if got := keyOfField(field); got != want {
			t.Errorf("%s: %s, want %s", field, got, want)
		}
	}
}
