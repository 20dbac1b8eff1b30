package grid

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/roster"
)

// TestStanding: a member's answers follow from the roster, itself, the age of the last
// raise, and whether it was ready before.
func TestStanding(t *testing.T) {
	a, b, c, stranger := testMember('a'), testMember('b'), testMember('c'), testMember('d')
	const window, fresh, stale = 15_000, 7500 * time.Millisecond, 7501 * time.Millisecond
	changed := func(change func(r *roster.Roster)) *roster.Roster {
		r := &roster.Roster{
			Version: 9, Settings: roster.Settings{Name: "g", Partitions: 2, Backups: 1, Window: window},
			Members: []roster.Member{{Incarnation: a}, {Incarnation: b}, {Incarnation: c}},
			Partitions: []roster.Partition{
				{Owner: a, InSync: []roster.Incarnation{a, b}},
				{Owner: b, InSync: []roster.Incarnation{b, c}},
			},
		}
		if change != nil {
			change(r)
		}
		return r
	}
	short := func(r *roster.Roster) { r.Partitions[1].InSync = []roster.Incarnation{b} }
	doubtful := func(r *roster.Roster) { r.Unsettled = []roster.Incarnation{c} }
	for name, test := range map[string]struct {
		s                    standing
		notReady, notSettled string // part of the reason; "" for none
	}{
		"at rest":                   {standing{changed(nil), a, fresh, false, time.Hour}, "", ""},
		"at rest, ready before":     {standing{changed(nil), a, fresh, true, time.Hour}, "", ""},
		"last raise too old":        {standing{changed(nil), a, stale, true, time.Hour}, "quorum lost", "quorum lost"},
		"no raise yet":              {standing{changed(nil), a, -1, false, time.Hour}, "quorum lost", "quorum lost"},
		"taken out":                 {standing{changed(nil), stranger, fresh, true, time.Hour}, "not in the roster", "not in the roster"},
		"copy missing":              {standing{changed(short), a, fresh, true, time.Hour}, "", "1 of 2 partitions"},
		"copy missing at the start": {standing{changed(short), a, fresh, false, time.Hour}, "1 of 2 partitions", "1 of 2 partitions"},
		"other in doubt":            {standing{changed(doubtful), a, fresh, true, time.Hour}, "", "partition 1 for one; the fewest is 0"},
		"other in doubt at start":   {standing{changed(doubtful), a, fresh, false, time.Hour}, "1 of 2 partitions", "1 of 2 partitions"},
		"in doubt itself":           {standing{changed(doubtful), c, fresh, true, time.Hour}, "not in sync", "1 of 2 partitions"},
		"owner in doubt": {standing{changed(func(r *roster.Roster) { r.Unsettled = []roster.Incarnation{b} }), a, fresh, true, time.Hour},
			"", "2 of 2 partitions"},
		"a joiner copies": {standing{changed(func(r *roster.Roster) { r.Partitions[0].Joining = c }), a, fresh, true, time.Hour}, "", ""},
		"all backups stated, one member left": {standing{changed(func(r *roster.Roster) {
			r.Settings.Backups, r.Members = 5, r.Members[:1]
			r.Partitions = r.Partitions[:1]
			r.Partitions[0].InSync = []roster.Incarnation{a}
		}), a, fresh, true, time.Hour}, "", ""},
		"more backups than members": {standing{changed(func(r *roster.Roster) { r.Settings.Backups = 5 }), a, fresh, true, time.Hour},
			"", "2 of 2 partitions have fewer copies in sync besides the owner's than 2"},
		"anchor holds the ceiling back": {standing{changed(func(r *roster.Roster) { r.Claim = "a" }), a, fresh, true, time.Millisecond}, "grants end in 1ms", "grants end in 1ms"},
		"no backups":                    {standing{changed(func(r *roster.Roster) { r.Settings.Backups = 0; short(r) }), a, fresh, false, time.Hour}, "", ""},
	} {
		for what, got := range map[string]struct {
			err  error
			want string
		}{"ready": {test.s.notReady(), test.notReady}, "settled": {test.s.notSettled(), test.notSettled}} {
			if (got.err == nil) != (got.want == "") || got.err != nil && !strings.Contains(got.err.Error(), got.want) {
				t.Errorf("%s: not %s: %v, want %q", name, what, got.err, got.want)
			}
		}
		if lost := errors.Is(test.s.notReady(), errQuorumLost); lost != (test.notReady == "quorum lost") {
			t.Errorf("%s: quorum lost: %v", name, lost)
		}
	}
}

// testMember returns an incarnation made of one hexadecimal digit.
func testMember(digit byte) roster.Incarnation {
	text := strings.Repeat(string(digit), 16)
	return roster.Incarnation(text + "-" + text)
}
