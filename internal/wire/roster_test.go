package wire_test

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

const (
	memberA = roster.Incarnation("00000000000000aa-0000000000000001")
	memberB = roster.Incarnation("00000000000000bb-0000000000000001")
)

// commands make a roster of two members, one after the other.
func commands() []roster.Command {
	join := &roster.Change{
		Join: []roster.Member{someMember(string(memberA)), someMember(string(memberB))},
		Lose: []roster.Loss{{Partition: 0, Owner: memberA}, {Partition: 1, Owner: memberB}},
	}
	return []roster.Command{
		{Form: &roster.Form{Grid: roster.GridID{1}, Settings: someSettings(), Ceiling: 5}},
		{From: 1, Raise: &roster.Raise{Time: 1767225600000}},
		{From: 1, Change: join},
		{From: 2, Change: &roster.Change{Window: 20000, Granted: 1767225700000, Persist: []roster.PartitionID{0, 1}}},
	}
}

func someRoster() *roster.Roster {
	r := new(roster.Roster)
	for _, c := range commands() {
		next, err := r.Apply(c)
		if err != nil {
			panic(err)
		}
		r = next
	}
	return r
}

func TestCommandsRoundTrip(t *testing.T) {
	more := roster.Command{From: 3, Change: &roster.Change{
		Remove: []roster.Incarnation{memberA}, Strike: []roster.MemberID{memberA.Member()},
		Forget: []roster.MemberID{memberB.Member()},
	}}
	for _, c := range append(commands(), more) {
		data, err := wire.EncodeCommand(c)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := wire.DecodeCommand(data); err != nil || !reflect.DeepEqual(got, c) {
			t.Errorf("%+v arrived as %+v, %v", c, got, err)
		}
		for n := range len(data) {
			if _, err := wire.DecodeCommand(data[:n]); err == nil {
				t.Errorf("a command cut off after %d bytes is taken", n)
			}
		}
	}
	// A partition number that does not fit must not become another partition.
	cut := "\x01\x82\xa4from\x01\xa6change\x81\xa4lose\x91\x82\xa9partition\xce\x00\x01\x00\x00\xa5owner\xa1x"
	if c, err := wire.DecodeCommand([]byte(cut)); err == nil {
		t.Errorf("partition 65536 became %+v", c.Change.Lose)
	}
}

// TestUnknownCommandsAreErrors: a command that says more than this version knows, or
// nothing that it knows, is never taken for one that says less.
func TestUnknownCommandsAreErrors(t *testing.T) {
	for what, data := range map[string]string{
		"a later format":           "\x04\x82\xa4from\x01\xa5raise\x81\xa7time_ms\x05",
		"a part of a later format": "\x01\x82\xa4from\x01\xa6change\x81\xa8protocol\x02",
		"no format":                "\x82\xa4from\x01\xa5raise\x81\xa7time_ms\x05",
		"an unknown part":          "\x01\x82\xa4from\x01\xa5split\x81\xa7time_ms\x05",
		"an unknown part besides":  "\x01\x83\xa4from\x01\xa5raise\x81\xa7time_ms\x05\xa5split\x80",
		"an unknown field of one":  "\x01\x82\xa4from\x01\xa5raise\x82\xa7time_ms\x05\xa4note\x01",
		"no part":                  "\x01\x81\xa4from\x01",
		"nothing at all":           "",
		"nothing after the format": "\x01",
	} {
		if c, err := wire.DecodeCommand([]byte(data)); err == nil {
			t.Errorf("%s: %+v", what, c)
		}
	}
	if _, err := wire.DecodeCommand([]byte("\x01\x82\xa4from\x01\xa5raise\x81\xa7time_ms\x05")); err != nil {
		t.Errorf("the command itself: %v", err)
	}
	data, err := wire.EncodeRoster(someRoster())
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range [][]byte{{}, data[1:], append([]byte{4}, data[1:]...)} {
		if _, err := wire.DecodeRoster(wrong); err == nil {
			t.Errorf("a roster that begins with %.2x is taken", wrong)
		}
	}
}

func TestRosterRoundTrip(t *testing.T) {
	disk := []roster.MemberID{memberA.Member(), memberB.Member()}
	recovered := roster.Form{Grid: roster.GridID{1}, Settings: someSettings(),
		Disks: make([][]roster.MemberID, someSettings().Partitions)}
	recovered.Disks[1] = disk
	before, err := new(roster.Roster).Apply(roster.Command{Form: &recovered})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*roster.Roster{{}, someRoster(), before} {
		data, err := wire.EncodeRoster(r)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := wire.DecodeRoster(data); err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%+v arrived as %+v, %v", r, got, err)
		}
		for n := range len(data) {
			if _, err := wire.DecodeRoster(data[:n]); err == nil {
				t.Errorf("a roster cut off after %d bytes is taken", n)
			}
		}
	}
}

// TestDamagedRosters: what no sequence of commands gives is an error.
func TestDamagedRosters(t *testing.T) {
	damages := map[string]func(r *roster.Roster){
		"no grid":              func(r *roster.Roster) { r.Grid = roster.GridID{} },
		"no version":           func(r *roster.Roster) { r.Version = 0 },
		"negative ceiling":     func(r *roster.Roster) { r.Ceiling = -1 },
		"ceiling far away":     func(r *roster.Roster) { r.Ceiling = 1 << 60 },
		"time over ceiling":    func(r *roster.Roster) { r.Time = r.Ceiling + 1 },
		"no settings":          func(r *roster.Roster) { r.Settings = roster.Settings{} },
		"settings":             func(r *roster.Roster) { r.Settings.Window = 5 },
		"partition lost":       func(r *roster.Roster) { r.Partitions = r.Partitions[:2] },
		"no partitions":        func(r *roster.Roster) { r.Partitions, r.Settings.Partitions = nil, 0 },
		"member's name":        func(r *roster.Roster) { r.Members[0].Incarnation = "x" },
		"member's address":     func(r *roster.Roster) { r.Members[0].API = "a\n" },
		"members out of order": func(r *roster.Roster) { r.Members[0], r.Members[1] = r.Members[1], r.Members[0] },
		"member twice":         func(r *roster.Roster) { r.Members[1] = r.Members[0] },
		"two of one member":    func(r *roster.Roster) { r.Members[1].Incarnation = memberA[:32] + "2" },
		"owner not a member":   func(r *roster.Roster) { r.Partitions[0].Owner = "x" },
		"owner gone":           func(r *roster.Roster) { r.Members = r.Members[1:] },
		"owner not in sync":    func(r *roster.Roster) { r.Partitions[0].InSync = []roster.Incarnation{memberB} },
		"empty in-sync set":    func(r *roster.Roster) { r.Partitions[0].InSync = nil },
		"replica twice":        func(r *roster.Roster) { r.Partitions[0].InSync = []roster.Incarnation{memberA, memberA} },
		"replica no member":    func(r *roster.Roster) { r.Partitions[0].InSync = []roster.Incarnation{memberA, "z"} },
		"term ahead":           func(r *roster.Roster) { r.Partitions[0].Term = 99 },
		"owner without term":   func(r *roster.Roster) { r.Partitions[0].Term, r.Partitions[0].LostTerm = 0, 0 },
		"term without owner":   func(r *roster.Roster) { r.Partitions[2].Term = 1 },
		"lost term ahead":      func(r *roster.Roster) { r.Partitions[0].LostTerm = r.Partitions[0].Term + 1 },
		"floor over ceiling":   func(r *roster.Roster) { r.Partitions[0].Floor = r.Ceiling + 1 },
		"disks out of order": func(r *roster.Roster) {
			r.Partitions[0].Disk = []roster.MemberID{memberB.Member(), memberA.Member()}
		},
		"disk twice": func(r *roster.Roster) {
			r.Partitions[0].Disk = []roster.MemberID{memberA.Member(), memberA.Member()}
		},
		"disk of no member ID": func(r *roster.Roster) { r.Partitions[0].Disk = []roster.MemberID{"disk"} },
		"negative floor":       func(r *roster.Roster) { r.Partitions[0].Floor = -1 },
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			data, err := wire.EncodeRoster(someRoster())
			if err != nil {
				t.Fatal(err)
			}
			r, err := wire.DecodeRoster(data) // a copy that shares nothing
			if err != nil {
				t.Fatal(err)
			}
			damage(r)
			if data, err = wire.EncodeRoster(r); err != nil {
				t.Fatal(err)
			}
			if _, err := wire.DecodeRoster(data); !errors.Is(err, wire.ErrBadRequest) {
				t.Errorf("the damage is not seen: %v", err)
			}
		})
	}
}

// TestAnchoredRoundTrip: the commands of an anchored grid and each roster that they lead
// to are read as they were written, also one whose time has passed its ceiling. Those of
// other grids are written as before there were anchors.
func TestAnchoredRoundTrip(t *testing.T) {
	const claim, later = "000102030405060708090a0b0c0d0e0f", "ff0102030405060708090a0b0c0d0e0f"
	r := someRoster()
	steps := []roster.Command{
		{From: 3, Reset: &roster.Reset{Claim: claim, Found: 1767225800000, Leader: someMember(string(memberA))}},
		{From: 4, Claim: claim, Raise: &roster.Raise{Time: 1767225900000, Limit: 1767225800001}},
		{From: 4, Claim: claim, Change: &roster.Change{Remove: []roster.Incarnation{memberB}, Granted: 1767225800002,
			Limit: 1767225800002}},
		{From: 5, Claim: claim, Change: &roster.Change{Stop: 1767225800000}},
		{From: 6, Claim: claim, Reset: &roster.Reset{Claim: later, Leader: someMember(string(memberA))}},
	}
	for _, c := range steps {
		data, err := wire.EncodeCommand(c)
		if err != nil {
			t.Fatal(err)
		}
		got, err := wire.DecodeCommand(data)
		if err != nil || !reflect.DeepEqual(got, c) {
			t.Fatalf("%+v arrived as %+v, %v", c, got, err)
		}
		if r, err = r.Apply(got); err != nil {
			t.Fatal(err)
		}
		if data, err = wire.EncodeRoster(r); err != nil {
			t.Fatal(err)
		}
		if read, err := wire.DecodeRoster(data); err != nil || !reflect.DeepEqual(read, r) {
			t.Fatalf("%+v arrived as %+v, %v", r, read, err)
		}
	}
	for _, c := range commands() {
		data, err := wire.EncodeCommand(c)
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range []string{"claim", "limit_ms", "reset"} {
			if bytes.Contains(data, []byte(field)) {
				t.Errorf("%+v is written with %q", c, field)
			}
		}
	}
}

// TestAnchoredRosterDamaged: a claim that is none, and partitions that no reset gives.
func TestAnchoredRosterDamaged(t *testing.T) {
	for name, damage := range map[string]func(*roster.Roster){
		"malformed claim":        func(r *roster.Roster) { r.Claim = "abc" },
		"time without an anchor": func(r *roster.Roster) { r.Time = r.Ceiling + 1 },
		"lost without a claim":   func(r *roster.Roster) { r.Partitions[0] = roster.Partition{Term: 2, LostTerm: 2} },
	} {
		r := someRoster()
		r.Partitions = slices.Clone(r.Partitions)
		damage(r)
		data, err := wire.EncodeRoster(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := wire.DecodeRoster(data); !errors.Is(err, wire.ErrBadRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
