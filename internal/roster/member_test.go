package roster_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/internal/rostertest"
)

func TestIncarnation(t *testing.T) {
	good := roster.Incarnation("0123456789abcdef-fedcba9876543210")
	if err := good.Check(); err != nil || good.Member() != "0123456789abcdef" {
		t.Errorf("%s is of member %s: %v", good, good.Member(), err)
	}
	for _, bad := range []roster.Incarnation{
		"", "-", "0123456789abcdef", "0123456789abcdef-", "0123456789abcdef-fedcba987654321",
		"0123456789ABCDEF-fedcba9876543210", "0123456789abcdef-fedcba9876543210-", "0123456789abcde/-fedcba9876543210",
	} {
		if err := bad.Check(); !errors.Is(err, roster.ErrInvalid) {
			t.Errorf("%q: %v", string(bad), err)
		}
	}
}

func TestMemberCheck(t *testing.T) {
	m := rostertest.Record(rostertest.Incarnation("a1"))
	if err := m.Check(); err != nil {
		t.Error(err)
	}
	if err := (roster.Member{Incarnation: m.Incarnation}).Check(); err != nil {
		t.Errorf("a member without a listener: %v", err)
	}
	for _, bad := range []roster.Member{
		{},
		{Incarnation: m.Incarnation, API: "a\tb"},
		{Incarnation: m.Incarnation, Raft: strings.Repeat("x", 256)},
		{Incarnation: m.Incarnation, Gossip: "\xff"},
	} {
		if err := bad.Check(); !errors.Is(err, roster.ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// FuzzGridID: accepted input encodes to the same text, and refused input does not change
// the ID.
func FuzzGridID(f *testing.F) {
	f.Add("000102030405060708090a0b0c0d0e0f")
	f.Add("000102030405060708090A0B0C0D0E0F")
	f.Add("000102030405060708090a0b0c0d0e")
	f.Add("g00102030405060708090a0b0c0d0e0f")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		g := roster.GridID{9}
		if err := g.UnmarshalText([]byte(text)); err != nil {
			if !errors.Is(err, roster.ErrInvalid) || g != (roster.GridID{9}) {
				t.Fatalf("refused %q with %v and left %s", text, err, g)
			}
			return
		}
		if out, err := g.MarshalText(); err != nil || string(out) != text || g.String() != text {
			t.Fatalf("%q became %q: %v", text, out, err)
		}
	})
}

// FuzzIncarnation: accepted input consists of a member's ID and of a start, in their
// canonical form.
func FuzzIncarnation(f *testing.F) {
	f.Add("0123456789abcdef-fedcba9876543210")
	f.Add("0123456789ABCDEF-fedcba9876543210")
	f.Add("0123456789abcdef-fedcba9876543210-")
	f.Add("-")
	f.Fuzz(func(t *testing.T, text string) {
		i := roster.Incarnation(text)
		if i.Check() == nil && (len(text) != 33 || i.Member().Check() != nil || string(i.Member())+"-"+text[17:] != text) {
			t.Fatalf("%q is accepted, of member %q", text, i.Member())
		}
	})
}

const (
	changeText = `{"from":2,"change":{"join":[` + recordText + `"b1"` + addressText + `],"remove":["c1"],` +
		`"lose":[{"partition":0,"owner":"a1","with":["b1"]}],"add":[{"partition":1,"member":"b1"}],` +
		`"settle":["a1"],"window_ms":20000,"granted_ms":7}}`
	otherText = `{"from":1,"change":{"take":[{"partition":0,"member":"a1"}],"admit":[{"partition":1,"member":"b1"}],` +
		`"drop":[{"partition":2,"member":"c1"}],"doubt":["a1"],"stop_ms":9}}`
	rosterText = `{"grid":"01000000000000000000000000000000","version":3,"ceiling_ms":7,"time_ms":0,` +
		`"settings":{"name":"g","partitions":2,"backups":1,"window_ms":20000},` +
		`"members":[` + recordText + `"a1"` + addressText + `,` + recordText + `"b1"` + addressText +
		`],"unsettled":["b1"],` +
		`"partitions":[{"owner":"a1","in_sync":["a1","b1"],"term":3,"floor_ms":7,"lost_term":3},` +
		`{"owner":"a1","in_sync":["a1"],"joining":"b1","term":2,"floor_ms":0,"lost_term":2}]}`
	recordText  = `{"incarnation":`
	addressText = `,"api":"127.0.0.1:7948","raft":"127.0.0.1:7947","gossip":"127.0.0.1:7946","durable":false}`
)

// TestEncoding: a roster and its commands survive JSON, under names that are
// fixed.
func TestEncoding(t *testing.T) {
	r := rostertest.Formed(t, 2, roster.DefaultWindow)
	a, b, c := rostertest.Incarnation("a1"), rostertest.Incarnation("b1"), rostertest.Incarnation("c1")
	r = rostertest.Apply(t, r, roster.Change{Join: []roster.Member{rostertest.Record(a), rostertest.Record(c)},
		Lose: []roster.Loss{{1, a, []roster.Incarnation{c}}}})
	change := roster.Command{From: 2, Change: &roster.Change{
		Join: []roster.Member{rostertest.Record(b)}, Remove: []roster.Incarnation{c},
		Lose: []roster.Loss{{0, a, []roster.Incarnation{b}}},
		Add:  rostertest.Replicas("1b1"), Settle: []roster.Incarnation{a}, Window: 20_000, Granted: 7,
	}}
	next, err := r.Apply(change)
	if err != nil {
		t.Fatal(err)
	}
	other := roster.Command{From: 1, Change: &roster.Change{
		Take: rostertest.Replicas("0a1"), Admit: rostertest.Replicas("1b1"), Drop: rostertest.Replicas("2c1"),
		Doubt: []roster.Incarnation{a}, Stop: 9,
	}}
	var readCommand roster.Command
	for command, want := range map[*roster.Command]string{&change: changeText, &other: otherText} {
		readCommand = roster.Command{}
		if got := letters(roundTrip(t, *command, &readCommand)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if !reflect.DeepEqual(*command, readCommand) {
			t.Errorf("%+v became %+v", *command, readCommand)
		}
	}
	var readRoster roster.Roster
	text := roundTrip(t, next, &readRoster)
	if !reflect.DeepEqual(*next, readRoster) {
		t.Errorf("%+v became %+v", next, readRoster)
	}
	if got := letters(text); got != rosterText {
		t.Errorf("got  %s\nwant %s", got, rosterText)
	}
}

func roundTrip(t *testing.T, value, read any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, read); err != nil {
		t.Fatal(err)
	}
	return string(text)
}
