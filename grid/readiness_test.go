package grid

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
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
		"at rest": {standing{roster: changed(nil), self: a, raised: fresh, wasReady: false,
			left: time.Hour}, "", ""},
		"at rest, ready before": {standing{roster: changed(nil), self: a, raised: fresh, wasReady: true, left: time.Hour},
			"", ""},
		"last raise too old": {standing{roster: changed(nil), self: a, raised: stale, wasReady: true, left: time.Hour},
			"quorum lost", "quorum lost"},
		"no raise yet": {standing{roster: changed(nil), self: a, raised: -1, wasReady: false, left: time.Hour},
			"quorum lost", "quorum lost"},
		"taken out": {standing{roster: changed(nil), self: stranger, raised: fresh, wasReady: true,
			left: time.Hour}, "not in the roster", "not in the roster"},
		"copy missing": {standing{roster: changed(short), self: a, raised: fresh, wasReady: true,
			left: time.Hour}, "", "1 of 2 partitions"},
		"copy missing at the start": {standing{roster: changed(short), self: a, raised: fresh, wasReady: false,
			left: time.Hour}, "1 of 2 partitions", "1 of 2 partitions"},
		"other in doubt": {standing{roster: changed(doubtful), self: a, raised: fresh, wasReady: true,
			left: time.Hour}, "", "for example partition 1; the fewest is 0"},
		"other in doubt at start": {standing{roster: changed(doubtful), self: a, raised: fresh, wasReady: false,
			left: time.Hour}, "1 of 2 partitions", "1 of 2 partitions"},
		"in doubt itself": {standing{roster: changed(doubtful), self: c, raised: fresh, wasReady: true,
			left: time.Hour}, "not in sync", "1 of 2 partitions"},
		"owner in doubt": {standing{roster: changed(func(r *roster.Roster) { r.Unsettled = []roster.Incarnation{b} }),
			self: a, raised: fresh, wasReady: true, left: time.Hour},
			"", "2 of 2 partitions"},
		"a joiner copies": {standing{roster: changed(func(r *roster.Roster) { r.Partitions[0].Joining = c }), self: a,
			raised: fresh, wasReady: true, left: time.Hour}, "", ""},
		"all backups stated, one member left": {standing{roster: changed(func(r *roster.Roster) {
			r.Settings.Backups, r.Members = 5, r.Members[:1]
			r.Partitions = r.Partitions[:1]
			r.Partitions[0].InSync = []roster.Incarnation{a}
		}), self: a, raised: fresh, wasReady: true, left: time.Hour}, "", ""},
		"more backups than members": {standing{roster: changed(func(r *roster.Roster) { r.Settings.Backups = 5 }), self: a,
			raised: fresh, wasReady: true, left: time.Hour},
			"", "2 of 2 partitions have fewer than 2 backups in sync"},
		"anchor holds the ceiling back": {standing{roster: changed(func(r *roster.Roster) { r.Claim = "a" }), self: a,
			raised: fresh, wasReady: true, left: time.Millisecond}, "grants end in 1ms", "grants end in 1ms"},
		"IDs begin later at a start": {standing{roster: changed(lost(90_000)), self: a, raised: fresh, left: time.Hour,
			now: 80_000},
			"IDs begin at 1970-01-01T00:01:30Z (in 10s): a grid without data directories", ""},
		"IDs of one partition begin later": {standing{roster: changed(lost(90_000)), self: a, raised: fresh, wasReady: true,
			left: time.Hour, now: 80_000}, "", ""},
		"IDs of all partitions begin later": {standing{roster: changed(lost(90_000, 80_001)), self: a, raised: fresh,
			wasReady: true, left: time.Hour, now: 80_000},
			"IDs begin at 1970-01-01T00:01:30Z (in 10s)", ""},
		"IDs have begun": {standing{roster: changed(lost(90_000)), self: a, raised: fresh, left: time.Hour, now: 90_000}, "",
			""},
		"IDs begin after a recovery": {standing{roster: changed(
			func(r *roster.Roster) { lost(700_000)(r); r.Recovered = &roster.Recovery{} }), self: a, raised: fresh,
			left: time.Hour, now: 80_000},
			"(in 10m20s): the grid was recovered", ""},
		"all killed": {standing{roster: changed(func(r *roster.Roster) { lost(90_000)(r); r.Members[0].Durable = true }),
			self: a, raised: fresh, left: time.Hour, now: 80_000},
			"every copy was lost", ""},
		"the anchor taken": {standing{roster: changed(func(r *roster.Roster) { lost(90_000)(r); r.Claim = "c" }), self: a,
			raised: fresh, left: time.Hour, now: 80_000},
			"anchor", ""},
		"no leader": {standing{roster: changed(nil), self: a, raised: fresh, left: time.Hour, leaderless: true},
			"no leader at the moment", "no leader at the moment"},
		"no leader, ready before": {standing{roster: changed(nil), self: a, raised: fresh, wasReady: true, left: time.Hour,
			leaderless: true}, "", "no leader at the moment"},
		"no majority": {standing{roster: changed(nil), self: a, raised: fresh, wasReady: true, left: time.Hour,
			leaderless: true, stranded: true}, "quorum lost", "quorum lost"},
		"no backups": {standing{roster: changed(func(r *roster.Roster) { r.Settings.Backups = 0; short(r) }),
			self: a, raised: fresh, wasReady: false, left: time.Hour}, "", ""},
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

// lost has the first partitions begin later, after a loss.
func lost(floors ...clustertime.Tick) func(r *roster.Roster) {
	return func(r *roster.Roster) {
		for i, floor := range floors {
			r.Partitions[i].Term, r.Partitions[i].LostTerm, r.Partitions[i].Floor = 7, 7, floor
		}
	}
}

// testMember returns an incarnation made of one hexadecimal digit.
func testMember(digit byte) roster.Incarnation {
	text := strings.Repeat(string(digit), 16)
	return roster.Incarnation(text + "-" + text)
}
