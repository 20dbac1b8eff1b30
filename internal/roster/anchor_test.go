package roster_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/internal/rostertest"
)

// claimOf is the n-th claim.
func claimOf[N int | int64](n N) roster.Claim { return roster.Claim(fmt.Sprintf("%032x", n)) }

// anchored is the grid of lived under its first claim, found at a limit. Its ceiling was
// 115,000.
func anchored(t *testing.T, found clustertime.Tick) *roster.Roster {
	t.Helper()
	return mustReset(t, lived(t), roster.Reset{Claim: claimOf(1), Found: found,
		Leader: rostertest.Record(rostertest.Incarnation("a2"))})
}

func mustReset(t *testing.T, r *roster.Roster, c roster.Reset) *roster.Roster {
	t.Helper()
	next, err := r.Apply(roster.Command{From: r.Version, Claim: r.Claim, Reset: &c})
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func mustChange(t *testing.T, r *roster.Roster, c roster.Change) *roster.Roster {
	t.Helper()
	next, err := r.Apply(roster.Command{From: r.Version, Claim: r.Claim, Change: &c})
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// TestResetLosesEverything: a reset gives every partition up at a floor above the ceiling
// and above the limit that was found, and registers the leader in place of its earlier start.
func TestResetLosesEverything(t *testing.T) {
	for found, floor := range map[clustertime.Tick]clustertime.Tick{0: 115_000, 90_000: 115_000, 300_000: 300_000} {
		before := lived(t)
		r := anchored(t, found)
		if r.Version != before.Version+1 || r.Claim != claimOf(1) || r.Ceiling != floor || r.Time != before.Time {
			t.Fatalf("found %d: %+v", found, r)
		}
		for id, p := range r.Partitions {
			want := roster.Partition{Term: roster.Term(r.Version), LostTerm: roster.Term(r.Version), Floor: floor}
			if !reflect.DeepEqual(p, want) {
				t.Errorf("found %d: partition %d is %+v, want %+v", found, id, p, want)
			}
		}
		if _, in := r.Member(rostertest.Incarnation("a1")); in {
			t.Errorf("found %d: the leader's earlier start is a member", found)
		}
		if _, in := r.Member(rostertest.Incarnation("a2")); !in || r.Settled(rostertest.Incarnation("a2")) ||
			len(r.Members) != 4 {
			t.Errorf("found %d: members %v, unsettled %v", found, r.Members, r.Unsettled)
		}
	}
}

// TestResetKeepsDisks: what disks have is all there is after a reset (D3).
func TestResetKeepsDisks(t *testing.T) {
	form := roster.Form{Grid: roster.GridID{1}, Settings: roster.Settings{Name: "g", Partitions: 1,
		Window: roster.LoneWindow}, Disks: [][]roster.MemberID{rostertest.MemberIDs("a1")}}
	r, err := new(roster.Roster).Apply(roster.Command{Form: &form})
	if err != nil {
		t.Fatal(err)
	}
	r = mustReset(t, r, roster.Reset{Claim: claimOf(1), Leader: rostertest.Record(rostertest.Incarnation("a1"))})
	if got := r.Partitions[0].Disk; !reflect.DeepEqual(got, rostertest.MemberIDs("a1")) {
		t.Errorf("disks %v", got)
	}
}

// TestRaiseUpToTheLimit: time advances without the anchor, the ceiling does not.
func TestRaiseUpToTheLimit(t *testing.T) {
	r := anchored(t, 0)
	for _, test := range []struct{ time, limit, ceiling clustertime.Tick }{
		{110_000, 120_000, 120_000}, {120_000, 0, 120_000}, {120_000, 119_000, 120_000}, {121_000, 500_000, 136_000},
	} {
		next, err := r.Apply(roster.Command{From: r.Version, Claim: r.Claim,
			Raise: &roster.Raise{Time: test.time, Limit: test.limit}})
		if err != nil || next.Ceiling != test.ceiling || next.Time != max(r.Time, test.time) || next.Version != r.Version {
			t.Fatalf("%+v: %v, %+v", test, err, next)
		}
		r = next
	}
}

// TestAnchorRefusals: the commands that an anchored roster refuses, and those of anchored
// grids that another refuses.
func TestAnchorRefusals(t *testing.T) {
	plain, r := lived(t), anchored(t, 0)
	leader := rostertest.Record(rostertest.Incarnation("b2"))
	stopped := stoppedAt(t, 50_000)
	for name, test := range map[string]struct {
		of   *roster.Roster
		c    roster.Command
		want string
	}{
		"raise without a claim":  {r, roster.Command{Raise: &roster.Raise{Time: 1}}, "claim"},
		"raise of another claim": {r, roster.Command{Claim: claimOf(2), Raise: &roster.Raise{Time: 1}}, "claim"},
		"change without a claim": {r, roster.Command{Change: &roster.Change{Window: 20_000}}, "claim"},
		"claim of a plain grid":  {plain, roster.Command{Claim: claimOf(1), Raise: &roster.Raise{Time: 1}}, "claim"},
		"limit of a plain grid":  {plain, roster.Command{Raise: &roster.Raise{Time: 1, Limit: 2}}, "has no anchor"},
		"negative limit": {r, roster.Command{Claim: r.Claim, Raise: &roster.Raise{Time: 1, Limit: -1}},
			"limit"},
		"limit after the year 9999": {r, roster.Command{Claim: r.Claim,
			Raise: &roster.Raise{Limit: clustertime.Latest + 1}}, "limit"},
		"granted without a limit": {r, roster.Command{Claim: r.Claim, Change: &roster.Change{Granted: 200_000}},
			"limit"},
		"granted beyond the limit": {r, roster.Command{Claim: r.Claim,
			Change: &roster.Change{Granted: 200_000, Limit: 199_999}}, "limit"},
		"form once there is a claim": {r, roster.Command{Claim: r.Claim,
			Form: &roster.Form{Grid: roster.GridID{2}, Settings: r.Settings}}, "already formed"},
		"reset of a malformed claim": {r, roster.Command{Claim: r.Claim,
			Reset: &roster.Reset{Claim: "abc", Leader: leader}}, "claim"},
		"reset to the same claim": {r, roster.Command{Claim: r.Claim,
			Reset: &roster.Reset{Claim: r.Claim, Leader: leader}}, "draw another"},
		"reset with a negative limit": {r, roster.Command{Claim: r.Claim,
			Reset: &roster.Reset{Claim: claimOf(2), Found: -1, Leader: leader}}, "anchor's time"},
		"reset without a leader": {r, roster.Command{Claim: r.Claim, Reset: &roster.Reset{Claim: claimOf(2)}},
			"incarnation"},
		"reset before there is a grid": {new(roster.Roster),
			roster.Command{Reset: &roster.Reset{Claim: claimOf(2), Leader: leader}}, "not formed"},
		"raise after the stop": {stopped, roster.Command{Claim: stopped.Claim,
			Raise: &roster.Raise{Time: 1, Limit: 500_000}}, "stopped"},
		"change after the stop": {stopped, roster.Command{Claim: stopped.Claim,
			Change: &roster.Change{Join: []roster.Member{leader}}}, "stopped"},
	} {
		test.c.From = test.of.Version
		next, err := test.of.Apply(test.c)
		if !errors.Is(err, roster.ErrRefused) || !strings.Contains(err.Error(), test.want) || next != test.of {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := r.Apply(roster.Command{From: r.Version - 1, Claim: r.Claim,
		Reset: &roster.Reset{Claim: claimOf(2), Leader: leader}}); !errors.Is(err, roster.ErrStale) {
		t.Errorf("a reset from an earlier version: %v", err)
	}
}

// stoppedAt is an anchored grid whose last member, which has no disk, has stopped in order.
func stoppedAt(t *testing.T, stop clustertime.Tick) *roster.Roster {
	t.Helper()
	r := anchored(t, 0)
	r = mustChange(t, r, roster.Change{Remove: rostertest.Incarnations([]string{"b1", "c1", "d1"})})
	return mustChange(t, r, roster.Change{Stop: stop})
}

// TestResetAfterAStop: the next life begins where grants ended, unless the record says
// more, and the ceiling does not go back.
func TestResetAfterAStop(t *testing.T) {
	for found, floor := range map[clustertime.Tick]clustertime.Tick{0: 50_000, 50_000: 50_000, 60_000: 60_000,
		200_000: 200_000} {
		r := mustReset(t, stoppedAt(t, 50_000), roster.Reset{Claim: claimOf(2), Found: found,
			Leader: rostertest.Record(rostertest.Incarnation("a3"))})
		if r.Stopped != 0 || r.Partitions[1].Floor != floor || r.Ceiling != max(floor, 115_000) {
			t.Errorf("found %d: floor %d, ceiling %d, stopped %d", found, r.Partitions[1].Floor, r.Ceiling, r.Stopped)
		}
		r = mustChange(t, r, roster.Change{Lose: []roster.Loss{{Partition: 1, Owner: rostertest.Incarnation("a3")}}})
		if got := r.Partitions[1].Floor; got != floor {
			t.Errorf("found %d: the first owner begins at %d, want %d", found, got, floor)
		}
		earlier := roster.Change{Granted: 300_000, Limit: 300_000,
			Lose: []roster.Loss{{Partition: 1, Owner: rostertest.Incarnation("a3")}}}
		if r = mustChange(t, r, earlier); r.Partitions[1].Floor != 300_000 || r.Partitions[2].Floor != 300_000 ||
			r.Ceiling != 300_000 {
			t.Errorf("found %d: grants of before end at 300,000, and the floors are %+v", found, r.Partitions)
		}
	}
}

// TestClaimIdentity: messages name another grid for each claim.
func TestClaimIdentity(t *testing.T) {
	g := roster.GridID{1, 2, 3}
	seen := map[roster.GridID]roster.Claim{}
	last := roster.Claim(strings.Repeat("f", 32))
	for _, c := range []roster.Claim{"", claimOf(1), claimOf(2), claimOf(int64(1) << 40), last} {
		if other, found := seen[c.Of(g)]; found {
			t.Errorf("%q and %q are one", c, other)
		}
		seen[c.Of(g)] = c
	}
	if seen[g] != "" || roster.Claim("").Of(g) != g {
		t.Error("a grid without an anchor has another ID")
	}
	r := anchored(t, 0)
	if r.Identity() != r.Claim.Of(r.Grid) || r.Identity() == r.Grid {
		t.Error("the roster's identity is not that of its claim")
	}
}

// TestAnchoredInvariants: whatever is applied, the ceiling of an anchored grid rises by
// commands with a limit of that height alone, and each reset begins above all before it.
func TestAnchoredInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		form := roster.Form{Grid: roster.GridID{1}, Settings: roster.Settings{Name: "g", Partitions: 2,
			Window: roster.LoneWindow}}
		r, err := new(roster.Roster).Apply(roster.Command{Form: &form})
		if err != nil {
			t.Fatal(err)
		}
		claims, starts := 0, 0
		highest := clustertime.Tick(0) // of all ceilings, or where a stop says that grants ended
		apply := func(c roster.Command) {
			before := r
			c.Claim = r.Claim
			if rapid.IntRange(0, 9).Draw(t, "other claim") == 0 {
				c.Claim = claimOf(rapid.IntRange(0, claims+1).Draw(t, "claim"))
			}
			c.From = r.Version
			next, err := r.Apply(c)
			if err != nil {
				if next != before {
					t.Fatal("a refused command has changed the roster")
				}
				return
			}
			r = next
			checkAnchored(t, before, next, c, highest)
			if highest = max(highest, r.Ceiling); r.Stopped > 0 {
				highest = r.Stopped
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"raise": func(t *rapid.T) {
				apply(roster.Command{Raise: &roster.Raise{Time: drawTick(t), Limit: drawTick(t)}})
			},
			"reset": func(t *rapid.T) {
				claims++
				starts++
				leader := rostertest.Incarnation(fmt.Sprintf("%c%d", "abc"[starts%3], starts))
				apply(roster.Command{Reset: &roster.Reset{Claim: claimOf(claims), Found: drawTick(t),
					Leader: rostertest.Record(leader)}})
			},
			"change": func(t *rapid.T) {
				c := drawSound(t, r)
				c.Limit = drawTick(t)
				apply(roster.Command{Change: &c})
			},
			"stop": func(t *rapid.T) {
				if len(r.Members) == 1 {
					apply(roster.Command{Change: &roster.Change{Stop: drawTick(t)}})
				}
			},
			"": func(t *rapid.T) { rostertest.CheckRoster(t, r) },
		})
	})
}

// checkAnchored checks one step of TestAnchoredInvariants.
func checkAnchored(t *rapid.T, before, next *roster.Roster, c roster.Command, highest clustertime.Tick) {
	limit := before.Ceiling
	switch {
	case c.Claim != before.Claim:
		t.Fatalf("a command of claim %q was applied at %q", c.Claim, before.Claim)
	case before.Claim == "":
		limit = clustertime.Latest
	case before.Stopped > 0 && c.Reset == nil:
		t.Fatalf("%+v was applied after the stop", c)
	case c.Raise != nil:
		limit = max(limit, c.Raise.Limit)
	case c.Change != nil:
		limit = max(limit, c.Change.Limit)
	}
	if c.Reset == nil {
		if next.Claim != before.Claim || next.Ceiling > limit || next.Ceiling < before.Ceiling {
			t.Fatalf("claim %q at ceiling %d became %q at %d by %+v", before.Claim, before.Ceiling, next.Claim, next.Ceiling, c)
		}
		return
	}
	for id, p := range next.Partitions {
		if p.Floor < highest || p.Floor < c.Reset.Found || p.Owner != "" {
			t.Fatalf("reset %+v: partition %d is %+v, and %d was granted", c.Reset, id, p, highest)
		}
	}
	if next.Claim != c.Reset.Claim || next.Stopped != 0 || next.Ceiling < before.Ceiling {
		t.Fatalf("reset %+v gave %+v", c.Reset, next)
	}
}

// TestAnchorFirst: a grid that was formed on its anchor accepts nothing before that is
// taken: its first timestamp rests on it.
func TestAnchorFirst(t *testing.T) {
	form := roster.Form{Grid: roster.GridID{1}, Anchored: true,
		Settings: roster.Settings{Name: "g", Partitions: 1, Window: roster.LoneWindow}}
	r, err := new(roster.Roster).Apply(roster.Command{Form: &form})
	if err != nil {
		t.Fatal(err)
	}
	leader := rostertest.Record(rostertest.Incarnation("a1"))
	for _, c := range []roster.Command{{Raise: &roster.Raise{Time: 1}},
		{Change: &roster.Change{Join: []roster.Member{leader}}}} {
		if c.From = r.Version; c.From > 0 {
			if _, err := r.Apply(c); !errors.Is(err, roster.ErrRefused) || !strings.Contains(err.Error(), "anchor") {
				t.Errorf("%+v: %v", c, err)
			}
		}
	}
	if r = mustReset(t, r, roster.Reset{Claim: claimOf(1), Leader: leader}); r.Restarted {
		t.Error("its first life counts as a restart")
	}
	if r = mustReset(t, r, roster.Reset{Claim: claimOf(2), Leader: leader}); !r.Restarted {
		t.Error("its second life counts as the first")
	}
}
