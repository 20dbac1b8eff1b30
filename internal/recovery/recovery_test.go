package recovery_test

import (
	"slices"
	"testing"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/recovery"
	"github.com/snowgrid/snowgrid/internal/roster"
)

const (
	now    = clustertime.Tick(1_800_000_000_000)
	window = clustertime.Span(15_000)
)

// incarnations are of three durable members.
var incarnations = []roster.Incarnation{
	"00000000000000a1-0000000000000001", "00000000000000a2-0000000000000001", "00000000000000a3-0000000000000001",
}

// formed returns the roster of a grid of three durable members.
func formed(t *testing.T, anchored bool) *roster.Roster {
	t.Helper()
	settings := roster.Settings{Name: "g", Partitions: 2, Backups: 1, Window: window}
	form := roster.Form{Grid: roster.GridID{1}, Ceiling: now, Settings: settings, Durable: true, Anchored: anchored}
	r, err := (&roster.Roster{}).Apply(roster.Command{Form: &form})
	if err != nil {
		t.Fatal(err)
	}
	if anchored {
		return r
	}
	var change roster.Change
	for _, i := range incarnations {
		change.Join = append(change.Join, roster.Member{Incarnation: i, Durable: true})
	}
	if r, err = r.Apply(roster.Command{From: r.Version, Change: &change}); err != nil {
		t.Fatal(err)
	}
	return r
}

// directory returns the directory of a member, with a log of that many entries.
func directory(r *roster.Roster, member int, index uint64,
	at map[roster.PartitionID]backup.Position) recovery.Directory {
	d := recovery.Directory{Member: incarnations[member].Member(), Roster: r, Term: 1, Index: index, Definitions: at}
	for _, i := range incarnations {
		d.Servers = append(d.Servers, leader.Server{ID: leader.ServerOf(i, true), Voter: true})
	}
	return d
}

// TestDisksWithTheLatestDefinitions: a partition is named on the disks of the latest position alone, and a
// position that only a shorter log has counts as well.
func TestDisksWithTheLatestDefinitions(t *testing.T) {
	r := formed(t, false)
	first := directory(r, 0, 9, map[roster.PartitionID]backup.Position{0: {Term: 2, Number: 5}, 1: {Term: 2, Number: 7}})
	second := directory(r, 1, 4, map[roster.PartitionID]backup.Position{0: {Term: 2, Number: 6}, 1: {Term: 2, Number: 7}})
	var got recovery.Decision
	for _, dirs := range [][]recovery.Directory{{second, first}, {first, second}} {
		var err error
		got, err = recovery.FromDisks(recovery.Disks{Directories: dirs, Old: r.Grid, Grid: roster.GridID{2}, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		if p := got.Roster.Partitions; !slices.Equal(p[0].Disk, []roster.MemberID{second.Member}) || len(p[1].Disk) != 2 {
			t.Errorf("the disks are %v and %v", p[0].Disk, p[1].Disk)
		}
	}
	if got.Roster.Grid == r.Grid || got.Roster.Version <= r.Version+recovery.VersionsApart ||
		got.Roster.Partitions[0].LostTerm == 0 {
		t.Errorf("the roster is %+v", got.Roster)
	}
	if voters := slices.DeleteFunc(got.Servers, func(s leader.Server) bool { return !s.Voter }); len(voters) != 1 {
		t.Errorf("of two members %v vote", voters)
	}
}

// TestRecoveredGridsBeginAboveTheLost: the grants of a recovered grid begin a window, the margin and a
// jump of the clocks above the latest ceiling and clock (S1).
func TestRecoveredGridsBeginAboveTheLost(t *testing.T) {
	r := formed(t, false)
	dirs := []recovery.Directory{directory(r, 0, 1, nil)}
	for _, clock := range []clustertime.Tick{now.Add(-window), now.Add(3_600_000)} {
		got, err := recovery.FromDisks(recovery.Disks{Directories: dirs, Old: r.Grid, Grid: roster.GridID{2}, Now: clock})
		want := max(r.Ceiling, clock).Add(window + clustertime.ClockMargin + clustertime.JumpLimit)
		if err != nil || got.First < want || got.Roster.Ceiling < want {
			t.Errorf("at %d: first %d, and at least %d is right: %v", clock, got.First, want, err)
		}
	}
}

// TestRecoveredGridKeepsItsAnchor: the reset of the first take loses the partitions (A2).
func TestRecoveredGridKeepsItsAnchor(t *testing.T) {
	r := formed(t, true)
	got, err := recovery.FromDisks(recovery.Disks{
		Directories: []recovery.Directory{directory(r, 0, 1, nil)}, Old: r.Grid, Grid: roster.GridID{2}, Now: now,
		Incarnation: func(id roster.MemberID) roster.Incarnation { return roster.Incarnation(id + "-0000000000000009") },
	})
	if err != nil || !got.Roster.Anchored || len(got.Commands) != 1 {
		t.Errorf("%d commands, anchored %v: %v", len(got.Commands), got.Roster.Anchored, err)
	}
}

// TestLeftKeepsTheClaim: a successor that has not claimed the anchor yet has granted nothing. So the
// record still bounds all grants (A7).
func TestLeftKeepsTheClaim(t *testing.T) {
	claimed := *formed(t, true)
	claimed.Claim = "c1"
	left := recovery.Left{}.Leave(roster.GridID{1}, &claimed, now, roster.Settings{})
	for what, next := range map[string]struct {
		roster *roster.Roster
		want   roster.Claim
	}{
		"no roster":           {&roster.Roster{}, "c1"},
		"anchored, unclaimed": {&roster.Roster{Version: 1, Anchored: true}, "c1"},
		"without an anchor":   {&roster.Roster{Version: 1}, ""},
		"another claim":       {&roster.Roster{Version: 1, Anchored: true, Claim: "c2"}, "c2"},
	} {
		if got := left.Leave(roster.GridID{2}, next.roster, now, roster.Settings{}).Claim; got != next.want {
			t.Errorf("%s: claim %q, want %q", what, got, next.want)
		}
	}
}

// TestSurvivorsBeginAboveEachOther: the next grid begins above the bounds of every survivor, by the
// largest window (S2).
func TestSurvivorsBeginAboveEachOther(t *testing.T) {
	own := recovery.Left{}.Leave(roster.GridID{1}, formed(t, false), now, roster.Settings{})
	own.Bounds.Wall = now
	others := []recovery.Bounds{
		{Ceiling: now.Add(900_000), Window: window}, {Time: now.Add(30_000), Window: window},
		{Wall: now.Add(60_000), Window: window}, {Wall: now, Window: 4 * window},
	}
	for i, other := range others {
		form, jump := recovery.FromMemory(roster.GridID{2}, own, []recovery.Bounds{other}, false, 0)
		want := max(other.Ceiling, max(other.Time, other.Wall,
			now).Add(other.Window+clustertime.ClockMargin+clustertime.JumpLimit))
		if form.Ceiling < want || jump != clustertime.JumpLimit {
			t.Errorf("survivor %d: first %d, and at least %d is right; jump %v", i, form.Ceiling, want, jump)
		}
	}
}
