//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/loopback"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// startListed starts two members in this process, called web-1 and web-2, with three
// sequencers, one of which has a labelled holder. It returns their API addresses.
func startListed(t *testing.T) string {
	t.Helper()
	gossip, err := loopback.FreeAddrs(2)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var addrs []string
	var members sync.WaitGroup
	var mu sync.Mutex
	for i := range 2 {
		members.Go(func() {
			m, err := grid.Start(ctx, grid.Config{
				Name: "shop", MemberName: fmt.Sprintf("web-%d", i+1), GossipAddr: gossip[i], RaftAddr: "127.0.0.1:0",
				APIAddr: "127.0.0.1:0", Expect: 2, Join: gossip, Window: time.Second,
			})
			if err != nil {
				cancel()
				t.Error(err)
				return
			}
			t.Cleanup(func() { _ = m.Close() })
			mu.Lock()
			defer mu.Unlock()
			addrs = append(addrs, m.Addrs().API)
		})
	}
	if members.Wait(); t.Failed() {
		t.FailNow()
	}
	c, err := client.Dial(ctx, client.Config{Addrs: addrs, Labels: map[string]string{"service": "shop", "pid": "17"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	for _, name := range []string{"orders", "a long name, of more than 24 characters", "users"} {
		seq, err := c.CreateSequencer(ctx, name, sequencer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := seq.Next(ctx); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Join(addrs, ",")
}

// TestListingCommands runs every command that lists over a real grid, as text and as JSON.
func TestListingCommands(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	addrs := startListed(t)
	list := func(args ...string) string {
		t.Helper()
		status, stdout, stderr := runCommand(t, append(args, "--addr", addrs)...)
		if status != exitDone || stderr != "" {
			t.Fatalf("%v: status %d, stderr %q", args, status, stderr)
		}
		return stdout
	}
	for _, test := range []struct {
		args string
		want []string // patterns of lines
	}{
		{"members", []string{`NAME   MEMBER            API              ROLE    STATE    OWNS  BUILD`,
			`web-1  [0-9a-f]{16}  127.0.0.1:\d+ +(leader|voter|member) +in sync  \d+ +\S+`, `web-2 `}},
		{"members --wide", []string{`NAME .* PROTOCOLS`, `web-1  [0-9a-f]{16}-[0-9a-f]{16}  .* no +\d+ +271 +\S+ +1 to \d`}},
		{"status", []string{`answered by   web-[12] \([0-9a-f-]{33}\)`, `settled       yes`, `leader        web-[12] \(`,
			`web-1  [0-9a-f]{16}  (leader|voter|member) `, `orders .* web-[12]`}},
		{"sequencers", []string{`SEQUENCER                 ATTACHED  NODES  IDS/S  LAYOUT      ENDS        OWNER`,
			`a long name, of more \.\.\.  1         8192   .* 63/23/8192  2060-\d\d-\d\d  web-[12]`, `orders `, `users `}},
		{"sequencers --prefix or", []string{`SEQUENCER .*`, `orders     1 .*`}},
		{"sequencers --limit 1", []string{`a long name`,
			`there are more: --after "a long name, of more than 24 characters"`}},
		{"sequencers --prefix zebra", []string{`no sequencers`}},
		{"holders orders", []string{`sequencer orders: 1 of 8192 logical nodes attached, owner web-[12]`,
			`NODE +HOLDER +RENEWED +ADDRESS +BUILD +LABELS`,
			`\d+ +[0-9a-f]{8} +\S+ ago +127.0.0.1:\d+ +\S+ +pid=17 service=shop`}},
		{"top -n 1", []string{`\S+Z (sequencer="\S+.*" ids_per_second=\S+ waits_per_second=0.0 attached=1 nodes=8192 owner=web-[12]|no IDs reported)`}},
	} {
		args := strings.Fields(test.args)
		lacks := func(out string) string { // a line that is not there
			for _, line := range test.want {
				if !regexp.MustCompile("(?m)^" + line).MatchString(out) {
					return line
				}
			}
			return ""
		}
		out := list(args...)
		for end := time.Now().Add(patience); lacks(out) != "" && time.Now().Before(end); pause() {
			out = list(args...) // on a busy machine a member may join once more
		}
		if line := lacks(out); line != "" {
			t.Errorf("%s has no line %q:\n%s", test.args, line, out)
		}
		checkListing(t, args, out)
	}

	var members memberList
	var sequencers wire.SequencersResponse
	var holders wire.HoldersResponse
	var look topLook
	for args, into := range map[string]any{"members": &members, "sequencers --limit 2": &sequencers,
		"holders orders": &holders, "top -n 1": &look} {
		if err := json.Unmarshal([]byte(list(append(strings.Fields(args), "-o", "json")...)), into); err != nil {
			t.Errorf("%s: %v", args, err)
		}
	}
	if len(members.Members) != 2 || members.Name != "shop" || members.Members[0].Name == "" || members.Answering == "" {
		t.Errorf("members: %+v", members)
	}
	if len(sequencers.Sequencers) != 2 || sequencers.Next != "orders" || sequencers.Sequencers[1].Attached != 1 {
		t.Errorf("sequencers: %+v", sequencers)
	}
	if holders.Attached != 1 || len(holders.Holders) != 1 || holders.Holders[0].Labels["pid"] != "17" ||
		holders.Holders[0].Build == "" {
		t.Errorf("holders: %+v", holders)
	}
	if look.Members != 2 || look.Alive != 2 || look.Name != "shop" || look.Grid != members.Grid ||
		look.Sequencers == nil {
		t.Errorf("top: %+v", look)
	}
	if status, _, said := runCommand(t, "holders", "absent", "--addr", addrs); status != exitFailed ||
		!strings.Contains(said, "not found") {
		t.Errorf("holders of an unknown sequencer: status %d, said %q", status, said)
	}
	var ids struct {
		Sequencer string         `json:"sequencer"`
		IDs       []sequencer.ID `json:"ids"`
	}
	var gone destroyed
	for _, step := range []struct {
		args string
		into any
	}{{"next users -n 3", &ids}, {"destroy users --yes", &gone}} {
		if err := json.Unmarshal([]byte(list(append(strings.Fields(step.args), "-o", "json")...)), step.into); err != nil {
			t.Errorf("%s: %v", step.args, err)
		}
	}
	if ids.Sequencer != "users" || len(ids.IDs) != 3 || gone.Destroyed != "users" {
		t.Errorf("next: %+v, destroy: %+v", ids, gone)
	}
	for _, command := range []string{"members", "sequencers", "holders orders", "top"} {
		status, stdout, said := runCommand(t, strings.Fields(command+" --addr 127.0.0.1:1")...)
		if status != exitUnreachable || stdout != "" || !strings.Contains(said,
			"no member answers at 127.0.0.1:1 (connection refused); check --addr") {
			t.Errorf("%s: status %d, said %q", command, status, said)
		}
	}
}

// checkListing checks the columns of a table, and that it has no colours.
func checkListing(t *testing.T, args []string, out string) {
	t.Helper()
	for line := range strings.Lines(out) {
		if len([]rune(line)) > 81 && args[0] != "top" && args[len(args)-1] != "--wide" {
			t.Errorf("%v: a line has %d columns: %s", args, len(line)-1, line)
		}
		if strings.Contains(line, "\x1b") || strings.HasSuffix(line, " \n") {
			t.Errorf("%v: %q has colours, or blanks at its end", args, line)
		}
	}
}

// TestTopScreen: one screen of at most 80 columns, written over the one before it, with
// rates over the looks at the same owner.
func TestTopScreen(t *testing.T) {
	var rates topRates
	at := time.Date(2026, time.July, 1, 12, 0, 0, 0, time.UTC)
	row := func(ids uint64, owner string) wire.SequencerRow {
		return wire.SequencerRow{Name: strings.Repeat("n", 200), IDs: ids, Waits: ids / 10, Recent: 7, Attached: 3,
			Nodes: 8192, Owner: inc1, OwnerName: owner}
	}
	for i, test := range []struct {
		after time.Duration
		row   wire.SequencerRow
		want  float64
	}{
		{0, row(1000, "web-1"), 7},
		{2 * time.Second, row(5000, "web-1"), 7},
		{10 * time.Second, row(11_000, "web-1"), 1000},
		{12 * time.Second, row(500, "web-1"), 7}, // the owner has begun again
	} {
		rows := rates.next(at.Add(test.after), []wire.SequencerRow{test.row, {Name: "idle", Owner: inc2}})
		if len(rows) != 2 || rows[0].IDs != test.want || rows[1].IDs != 0 || test.want == 1000 && rows[0].Waits != 100 {
			t.Errorf("look %d: %+v, want %v IDs per second", i, rows, test.want)
		}
		if len(rates.looks) > 4 {
			t.Errorf("%d looks are kept", len(rates.looks))
		}
	}
	var out strings.Builder
	look := topLook{Time: at, Name: "shop", Leader: "web-1", Members: 3, Alive: 2, Ahead: 13_500, IDs: 1234,
		Sequencers: []topRow{{Name: strings.Repeat("n", 200), IDs: 1_234_567, Owner: "web-1"}}, settled: "no"}
	if err := (&topCommand{Every: 2 * time.Second}).screen(&out, look); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.HasPrefix(text, home) || !strings.HasSuffix(text, clearBelow) ||
		!strings.Contains(text, "1,234,567") || !strings.Contains(text,
		"2 of 3 members alive, leader web-1, ceiling 13.5s ahead, not settled") {
		t.Errorf("the screen is %q", text)
	}
	for line := range strings.Lines(out.String()) {
		if plain := regexp.MustCompile(`\x1b\[\d*[A-Z]`).ReplaceAllString(line, ""); len(plain) > 81 {
			t.Errorf("a line has %d columns: %q", len(plain), line)
		}
	}
}
