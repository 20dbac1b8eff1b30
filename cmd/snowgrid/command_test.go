package main

import (
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// runCommand runs the program without a process around it.
func runCommand(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	status = run(t.Context(), args, streams{out: &out, err: &errs})
	return status, out.String(), errs.String()
}

// parse reads a command line without running it.
func parse(t *testing.T, args ...string) (*commands, error) {
	t.Helper()
	var parsed commands
	parser, err := newParser(&parsed, newSources(), kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	_, err = parser.Parse(args)
	return &parsed, err
}

func TestExitStatus(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args           string
		status         int
		stdout, stderr string // parts
	}{
		{"--help", 0, "snowgrid demo", ""},
		{"next --help", 0, "--nodes", ""},
		{"help", 0, "snowgrid demo", ""},
		{"help next", 0, "--nodes", ""},
		{"agent --help", 0, "SNOWGRID_GOSSIP_ADDR", ""},
		{"decode 1", 0, "counter", ""},
		{"--version", 0, "protocol", ""},
		{"version", 0, "protocol", ""},
		{"", 2, "", "expected one of"},
		{"dance", 2, "", "unexpected argument dance"},
		{"decode", 2, "", "<id>"},
		{"quota lst", 2, "", `quota has no command "lst"; did you mean list? It has list, set or remove`},
		{"context show", 2, "", `context has no command "show"; it has add, use, list or remove`},
		{"secure initt", 2, "", `secure has no command "initt"; did you mean init?`},
		{"quota set a b", 2, "", "unexpected argument b"},
		{"quota list b", 2, "", "unexpected argument b"},
		{"decode 1 --colour", 2, "", "--colour"},
		{"decode 1 --epoch soon", 2, "", "write it as 2026-01-01T00:00:00Z"},
		{"next orders -n 0", 2, "", "at least 1"},
		{"demo --for 1s", 2, "", "at least 3s"},
		{"status -o xml", 2, "", "must be one of"},
		{"agent --log-level loud", 2, "", `--log-level: "loud": give debug, info, warn or error`},
		{"agent --data-dir", 2, "", "snowgrid: --data-dir: the value is missing; give one of type string\n"},
		{"agent --window", 2, "", "snowgrid: --window: the value is missing; give one of type duration\n"},
		{"agent --log-level", 2, "", "snowgrid: --log-level: the value is missing\n"},
		{"agent --first-life", 2, "", "--first-life"},
		{"decode one", 2, "",
			"snowgrid: \"one\" is not an ID; give a decimal number from 0 to 9223372036854775807 without sign, space or " +
				"leading zero\n"},
		{"decode -5", 2, "", "snowgrid: \"-5\" is not an ID; give a decimal number from 0 to 9223372036854775807"},
		{"decode -57 -o json", 2, "", "snowgrid: \"-57\" is not an ID; give a decimal number"},
		{"decode 1 -5", 2, "", "unknown flag -5"},
		{"next -5", 2, "", "unknown flag -5"},
		{"identity apply --set web -5", 2, "", `snowgrid: "-5" is not a number from 1 to 9007199254740991` + "\n"},
		{"identity apply --set web five", 2, "", `snowgrid: <number>: "five" is not a whole number from 0 up` + "\n"},
		{"identity clean --set web 1 -25", 2, "", `"-25" is not a number from 1 to 9007199254740991`},
		{"identity import --set web -5", 2, "", `"-5" is not a number from 1 to 9007199254740991`},
		{"identity import --set web 1 -5", 2, "", `"-5" is not a number from 1 to 9007199254740991`},
		{"next orders -n 1.5", 2, "", `snowgrid: --count: "1.5" is not a whole number` + "\n"},
		{"decode 1 --nodes 100", 2, "", "128"},
		{"decode 1 --layout twiter", 2, "", "give default, twitter, discord, jssafe"},
		{"decode 1 --layout 64/22/1024", 2, "", "at most 63"},
		{"decode 1 --layout jssafe --nodes 65", 2, "", "16 to 64"},
		{"decode 9007199254740992 --layout jssafe", 2, "", "more than the 53 bits"},
		{"sql --dialect sqlite shop/orders", 0, "CREATE VIEW shop_orders_parts", ""},
		{"sql orders", 2, "", "--dialect"},
		{"sql --dialect oracle orders", 2, "", `must be one of "postgres","mysql","sqlite","clickhouse"`},
		{"sql --dialect postgres 2nd", 2, "", `prefix "2nd" makes no identifiers; give at most 51`},
		{"sql --dialect postgres 2nd --prefix second", 0, "FUNCTION second_time(", ""},
		{"sql --dialect mysql orders --layout jssafe --nodes 65", 2, "", "16 to 64"},
		{"agent --floor 1234567890123", 2, "", "add the epoch"},
		{"agent --floor 2026-13-01", 2, "", "not a time"},
		{"recover", 2, "", "--data-dir"},
		{"recover --data-dir /nowhere", 1, "", "is missing or empty; give the data directory of a stopped member"},
		{"recover --data-dir /nowhere --floor soon", 2, "", "neither a time nor an ID"},
		{"status --addr 127.0.0.1:1", 3, "", "no member answers at 127.0.0.1:1 (connection refused); check --addr"},
		{"next orders --addr nowhere", 2, "", "--addr=nowhere: this is not host:port"},
		{"status --addr 127.0.0.1", 2, "", "--addr=127.0.0.1: this is not host:port"},
		{"alive --addr 127.0.0.1", 2, "", "host:port"},
		{"init --addr 127.0.0.1:1,127.0.0.1:2", 2, "", "this command calls one member"},
		{"next orders --nodes 100 --addr 127.0.0.1:1", 2, "", "128"},
		{"secure show --dir /nowhere", 2, "", "/nowhere"},
		{"secure show --dir .", 1, "",
			". has no certificates and no keys (open ca.crt: no such file or directory); give a directory of"},
		{"secure init --out x --ttl 0s", 2, "", "--ttl=0s: give a duration above 0"},
		{"secure token", 2, "", "missing flags: --dir=DIR, --for=NAME, --role=STRING, --ttl=DURATION"},
		{"secure token --dir x --role reader --for a", 2, "", "missing flags: --ttl=DURATION"},
		{"secure init", 2, "", "missing flags: --out=DIR"},
		{"secure issue", 2, "", "missing flags: --dir=DIR, --for=NAME, --out=DIR, --role=STRING"},
		{"secure unpack", 2, "", "missing flags: --out=DIR"},
		{"secure rotate certificates --dir x --ttl -1h", 2, "", "--ttl=-1h0m0s: give a duration above 0"},
		{"sequencers remove", 2, "", "missing flags: --dry-run or --yes, --unused-for=DURATION"},
		{"sequencers remove --unused-for 0s --yes", 2, "", "--unused-for=0s: give at least 1s"},
		{"secure init --out=", 2, "", `--out="": give a directory`},
		{"secure issue --dir x --role reader --for a --out x --ttl -1h", 2, "", "--ttl=-1h0m0s: give a duration above 0"},
		{"secure token --dir x --role reader --for a --ttl 0s", 2, "", "--ttl=0s: give a duration above 0"},
		{"secure unpack --out=", 2, "", `--out="": give a directory`},
		{"status --addr=", 2, "", "snowgrid: --addr: the list is empty; give host:port"},
		{"wait ready --addr=", 2, "", "snowgrid: --addr: the list is empty; give host:port"},
		{"next orders --addr=", 2, "", "snowgrid: --addr: the list is empty; give host:port"},
		{"status --addr 127.0.0.1:0", 2, "", `the port is "0"; give 1 to 65535`},
		{"status --timeout -1s", 2, "", "--timeout=-1s: give a duration above 0"},
		{"next orders -n -1", 2, "", "-n -1: give at least 1"},
		{"holders orders --limit -1", 2, "", "--limit=-1: give 1 or more, or 0 for all"},
		{"import /", 2, "", "/: is a directory; give a file of snowgrid export"},
		{"identity import --file / --addr 127.0.0.1:1", 2, "", "--file /: is a directory; give a file as printed by"},
		{"keyring install @/", 2, "", "@/: is a directory; give a file with one key"},
		{"keyring install @/no/file", 2, "", "/no/file: no such file or directory; give a file with one key"},
		{"quota list --addr 127.0.0.1:1", 3, "", "no member answers"},
		{"identity list --addr 127.0.0.1:1", 3, "", "no member answers"},
		{"keyring list --addr 127.0.0.1:1", 3, "", "no member answers"},
		{"settings --addr 127.0.0.1:1", 3, "", "no member answers"},
	}
	for _, test := range tests {
		t.Run(test.args, func(t *testing.T) {
			status, stdout, stderr := runCommand(t, strings.Fields(test.args)...)
			if status != test.status || !strings.Contains(stdout, test.stdout) || !strings.Contains(stderr, test.stderr) {
				t.Errorf("status %d, want %d; stdout wants %q, stderr wants %q; stdout:\n%s\nstderr:\n%s",
					status, test.status, test.stdout, test.stderr, stdout, stderr)
			}
			lines := strings.SplitAfter(strings.TrimSuffix(stderr, "\n"), "\n")
			if first := lines[0]; strings.Contains(first, "msg=audit action=recover") &&
				strings.Contains(first, "result=denied") {
				lines = lines[1:]
			}
			for _, text := range []string{"invalid syntax", "strconv."} { // texts of Go, which name no remedy
				if strings.Contains(stderr, text) {
					t.Errorf("the error has the text %q: %s", text, stderr)
				}
			}
			if status != 0 && (stdout != "" || !strings.HasPrefix(lines[0], "snowgrid: ")) {
				t.Errorf("an error belongs on stderr; stdout:\n%s\nstderr:\n%s", stdout, stderr)
			}
		})
	}
}

func TestHelpTeachesByExample(t *testing.T) {
	for _, command := range []string{"demo", "agent", "next", "decode", "sql", "status", "destroy", "init", "recover"} {
		if _, stdout, _ := runCommand(t, command, "--help"); !strings.Contains(stdout, "    snowgrid "+command) {
			t.Errorf("snowgrid %s --help has no example:\n%s", command, stdout)
		}
	}
}

func TestAgentConfig(t *testing.T) {
	floor := time.Date(2026, time.July, 1, 12, 0, 0, 0, time.UTC)
	orders, err := sequencer.Define("orders", sequencer.Config{Epoch: epoch.Discord, Nodes: 128})
	if err != nil {
		t.Fatal(err)
	}
	base := grid.Config{GossipAddr: "127.0.0.1:7946", RaftAddr: "127.0.0.1:7947", APIAddr: "127.0.0.1:7948"}
	with := func(change func(*grid.Config)) grid.Config {
		cfg := base
		change(&cfg)
		return cfg
	}
	tests := []struct {
		args string
		env  [2]string
		want grid.Config
	}{
		{args: "", want: base},
		{args: "--name shop --gossip-addr a:1 --raft-addr b:2 --api-addr c:3 --advertise-host d --insecure",
			want: with(func(c *grid.Config) {
				c.Name, c.GossipAddr, c.RaftAddr, c.APIAddr, c.AdvertiseHost = "shop", "a:1", "b:2", "c:3", "d"
				c.Security = &security.Config{Insecure: true}
			})},
		{args: "--join a:1,b:2 --expect 3",
			want: with(func(c *grid.Config) { c.Join, c.Expect = []string{"a:1", "b:2"}, 3 })},
		{args: "--backups 2", want: with(func(c *grid.Config) { c.Backups = 2 })},
		{args: "--backups 0", want: with(func(c *grid.Config) { c.Backups = grid.NoBackups })},
		{args: "--window 30s --partitions 31 --data-dir /d", want: with(func(c *grid.Config) {
			c.Window, c.Partitions, c.DataDir = 30*time.Second, 31, "/d"
		})},
		{env: [2]string{"SNOWGRID_FIRST_LIFE", "true"}, want: base}, // it would be true of one start at most
		{args: "--floor 2026-07-01T12:00:00Z", want: with(func(c *grid.Config) { c.Floor = floor })},
		{args: "--epoch discord --floor " + orders.MaxID(floor).String(),
			want: with(func(c *grid.Config) { c.Floor = floor })},
		{env: [2]string{"SNOWGRID_JOIN", "a:1,b:2"}, want: with(func(c *grid.Config) { c.Join = []string{"a:1", "b:2"} })},
		{env: [2]string{"SNOWGRID_BACKUPS", "0"}, want: with(func(c *grid.Config) { c.Backups = grid.NoBackups })},
		{env: [2]string{"SNOWGRID_API_ADDR", "a:1"}, args: "--api-addr b:2 --insecure",
			want: with(func(c *grid.Config) { c.APIAddr, c.Security = "b:2", &security.Config{Insecure: true} })},
	}
	for _, test := range tests {
		t.Run(test.env[0]+" "+test.args, func(t *testing.T) {
			if test.env[0] != "" {
				t.Setenv(test.env[0], test.env[1])
			}
			parsed, err := parse(t, append([]string{"agent"}, strings.Fields(test.args)...)...)
			if err != nil {
				t.Fatal(err)
			}
			got, err := parsed.Agent.config(nil)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("config\n%+v, want\n%+v", got, test.want)
			}
		})
	}
}

// TestAgentBackupsRefused: on the command line 0 means none, so a negative number is
// refused, and the message does not mention grid.NoBackups.
func TestAgentBackupsRefused(t *testing.T) {
	for args, want := range map[string]string{
		"--backups=-1":    "--backups=-1: give 0 for none",
		"--backups=-2":    "--backups=-2: give 0 for none",
		"--backups=32768": "1 to 32767 for as many backups",
	} {
		status, _, stderr := runCommand(t, "agent", args)
		if status == 0 || !strings.Contains(stderr, want) || strings.Contains(stderr, "NoBackups") {
			t.Errorf("%s: status %d: %s", args, status, stderr)
		}
	}
	if _, err := parse(t, "agent", "--backups", "-1"); err == nil || !strings.Contains(err.Error(), "--backups") {
		t.Errorf("--backups -1: %v", err)
	}
}

func TestEpochFlag(t *testing.T) {
	t.Parallel()
	tests := map[string]epoch.Epoch{
		"2026-01-01T00:00:00Z":      epoch.Default,
		"2026-01-01":                epoch.Default,
		"2026-01-01T02:00:00+02:00": epoch.Default,
		"1767225600000":             epoch.Default,
		"twitter":                   epoch.Twitter,
		"discord":                   epoch.Discord,
		"2010-11-04T01:42:54.657Z":  epoch.Twitter,
	}
	for text, want := range tests {
		parsed, err := parse(t, "decode", "1", "--epoch", text)
		if err != nil || parsed.Decode.Epoch.Epoch != want {
			t.Errorf("%s is %v, want %v; error %v", text, parsed.Decode.Epoch, want, err)
		}
	}
}

func TestDecode(t *testing.T) {
	orders, err := sequencer.Define("orders", sequencer.Config{Epoch: epoch.Twitter, Nodes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	id, err := orders.Compose(sequencer.Parts{Time: time.Date(2026, 7, 1, 12, 30, 0, 45e6, time.UTC), Node: 17,
		Counter: 4711})
	if err != nil {
		t.Fatal(err)
	}
	status, got, stderr := runCommand(t, "decode", id.String(), "--nodes", "1000", "--epoch", "twitter")
	want := "id       " + id.String() + `
time     2026-07-01T12:30:00.045Z
node     17 of 1024
counter  4711
epoch    2010-11-04T01:42:54.657Z
layout   63/23/8192
`
	if status != 0 || got != want {
		t.Errorf("status %d, stderr %q, stdout\n%s, want\n%s", status, stderr, got, want)
	}
}

// TestDecodeLayouts: a preset has its epoch, unless another one is given.
func TestDecodeLayouts(t *testing.T) {
	for args, want := range map[string]string{
		"decode 1541815603606036480 --layout twitter": "time     2022-06-28T16:07:40.105Z\nnode     " +
			"378 of 1024\ncounter  0\nepoch    2010-11-04T01:42:54.657Z\nlayout   63/22/1024\n",
		"decode 175928847299117063 --layout discord": "time     2016-04-30T11:18:25.796Z\nnode     " +
			"32 of 1024\ncounter  7\nepoch    2015-01-01T00:00:00.000Z\nlayout   63/22/1024\n",
		"decode 1541815603606036480 --layout twitter --epoch 0": "time     1981-08-25T14:24:45.448Z\nnode     " +
			"378 of 1024\ncounter  0\nepoch    1970-01-01T00:00:00.000Z\nlayout   63/22/1024\n",
		"decode 4095 --layout jssafe": "time     2026-01-01T00:00:00.000Z\nnode     " +
			"63 of 64\ncounter  63\nepoch    2026-01-01T00:00:00.000Z\nlayout   53/12/64\n",
		"decode 4194303 --layout 63/22/1024 --nodes 16 --epoch 2026-01-01": "time     2026-01-01T00:00:00.000Z\nnode     " +
			"15 of 16\ncounter  262143\nepoch    2026-01-01T00:00:00.000Z\nlayout   63/22/1024\n",
	} {
		words := strings.Fields(args)
		want = "id       " + words[1] + "\n" + want
		if status, got, stderr := runCommand(t, words...); status != 0 || got != want {
			t.Errorf("%s: status %d, stderr %q, stdout\n%s, want\n%s", args, status, stderr, got, want)
		}
	}
}

// counting fills with 0, 1, 2 ... and fails with err once it has issued limit.
type counting struct {
	issued, limit int64
	err           error
}

func (c *counting) Fill(_ context.Context, dst []sequencer.ID) (int, error) {
	for i := range dst {
		if c.issued == c.limit {
			return i, c.err
		}
		dst[i] = sequencer.ID(c.issued)
		c.issued++
	}
	return len(dst), nil
}

func TestPrintIDs(t *testing.T) {
	broken := errors.New("broken")
	for _, count := range []int64{1, 3, fillSize, fillSize + 1, 3*fillSize + 7} {
		var out strings.Builder
		printed, err := printIDs(t.Context(), asText(&out), &counting{limit: -1}, count)
		lines := strings.Fields(out.String())
		if err != nil || printed != count || int64(len(lines)) != count ||
			lines[len(lines)-1] != sequencer.ID(count-1).String() {
			t.Errorf("%d IDs: printed %d in %d lines, error %v", count, printed, len(lines), err)
		}
	}

	var out strings.Builder
	printed, err := printIDs(t.Context(), asText(&out), &counting{limit: 2, err: broken}, 5)
	if !errors.Is(err, broken) || printed != 2 || out.String() != "0\n1\n" {
		t.Errorf("with an error: printed %d, %q, error %v; want the two IDs that came with it", printed, out.String(), err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if printed, err := printIDs(ctx, asText(io.Discard), &counting{limit: -1}, 5); printed != 0 ||
		!errors.Is(err, context.Canceled) {
		t.Errorf("after the end: printed %d, error %v", printed, err)
	}
	if _, err := printIDs(t.Context(), asText(closedPipe{}), &counting{limit: -1}, 1e6); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("with no reader: error %v", err)
	}
}

// closedPipe is a writer whose reader has closed the pipe.
type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }
