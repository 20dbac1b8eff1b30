package roster_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/internal/rostertest"
)

// TestVotersAndZonesChange: the number of voters and the zones of members change, and refusals
// change nothing.
func TestVotersAndZonesChange(t *testing.T) {
	a, b := rostertest.Incarnation("a1"), rostertest.Incarnation("b1")
	r := rostertest.Apply(t, rostertest.Formed(t, 1, roster.DefaultWindow),
		roster.Change{Join: rostertest.Records([]string{"a1", "b1"})})
	old := r
	zone := func(i roster.Incarnation, zone string) []roster.Zoning {
		return []roster.Zoning{{Member: i, Zone: zone}}
	}
	for what, c := range map[string]struct {
		r      *roster.Roster
		change roster.Change
		want   string
	}{
		"four voters":         {r, roster.Change{Voters: 4}, "voters 4 must be 1, 3, 5 or 7"},
		"as many voters":      {r, roster.Change{Voters: 3}, "differ from the grid's, 3"},
		"a stranger's zone":   {r, roster.Change{Zones: zone(rostertest.Incarnation("c1"), "x")}, "is not a member"},
		"two zones":           {r, roster.Change{Zones: append(zone(a, "x"), zone(a, "y")...)}, "or is listed twice"},
		"the same zone":       {r, roster.Change{Zones: zone(a, "")}, "already"},
		"an unprintable zone": {r, roster.Change{Zones: zone(a, "a\nb")}, "control characters"},
		"a long zone":         {r, roster.Change{Zones: zone(a, strings.Repeat("x", 256))}, "255 bytes"},
	} {
		if next, err := c.r.Apply(roster.Command{From: c.r.Version, Change: &c.change}); !errors.Is(err, roster.ErrRefused) ||
			next != c.r || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
	r = rostertest.Apply(t, r, roster.Change{Voters: 5, Zones: zone(b, "x")})
	if r.Settings.Voters != 5 || r.ZoneOf(b) != "x" || r.ZoneOf(a) != "" || old.ZoneOf(b) != "" {
		t.Errorf("%+v", r)
	}
	r = rostertest.Apply(t, r, roster.Change{Voters: 3, Zones: zone(b, "")})
	if r.Settings != old.Settings || r.ZoneOf(b) != "" {
		t.Errorf("%+v is not as before", r)
	}
}

// TestExpectChanges: the number of members that are meant to run is that of the form until a
// change of it, and members that join or are removed leave it.
func TestExpectChanges(t *testing.T) {
	r := rostertest.Formed(t, 1, roster.DefaultWindow)
	form := roster.Form{Grid: r.Grid, Settings: r.Settings}
	form.Settings.Expect = 3
	r, err := new(roster.Roster).Apply(roster.Command{Form: &form})
	if err != nil || r.Settings.Expect != 3 {
		t.Fatalf("%+v: %v", r, err)
	}
	r = rostertest.Apply(t, r, roster.Change{Join: rostertest.Records([]string{"a1", "b1", "c1", "d1"})})
	r = rostertest.Apply(t, r, roster.Change{Remove: rostertest.Incarnations([]string{"b1", "c1"})})
	if r.Settings.Expect != 3 {
		t.Errorf("members that come and go made it %d", r.Settings.Expect)
	}
	for _, n := range []int{-1, 3, roster.MaxExpect + 1} {
		next, err := r.Apply(roster.Command{From: r.Version, Change: &roster.Change{Expect: n}})
		if want := "must be 1 to 1000, and differ from the grid's, 3"; !errors.Is(err, roster.ErrRefused) ||
			next != r || !strings.Contains(err.Error(), want) {
			t.Errorf("expect %d: %v", n, err)
		}
	}
	for _, n := range []int{1, roster.MaxExpect} {
		if r = rostertest.Apply(t, r, roster.Change{Expect: n}); r.Settings.Expect != n || r.Check() != nil {
			t.Errorf("expect %d: %+v", n, r.Settings)
		}
	}
	form.Settings.Expect = roster.MaxExpect + 1
	if _, err := new(roster.Roster).Apply(roster.Command{Form: &form}); !errors.Is(err, roster.ErrRefused) {
		t.Errorf("a grid of %d members: %v", form.Settings.Expect, err)
	}
}

// TestInOneZone: a partition with several copies, all in one zone.
func TestInOneZone(t *testing.T) {
	join := rostertest.Records([]string{"a1", "b1", "c1"})
	join[0].Zone, join[1].Zone = "x", "x"
	r := rostertest.Apply(t, rostertest.Formed(t, 1, roster.DefaultWindow), roster.Change{Join: join})
	for names, want := range map[string]bool{"": false, "a1": false, "a1 b1": true, "a1 c1": false, "b1 c1 a1": false} {
		var p roster.Partition
		for _, name := range strings.Fields(names) {
			p.InSync = append(p.InSync, rostertest.Incarnation(name))
			p.Owner = p.InSync[0]
		}
		if got := r.InOneZone(p); got != want {
			t.Errorf("%q: %v", names, got)
		}
	}
	for name, want := range map[string]string{"a1": "x", "b1": "x", "c1": ""} {
		if zone := r.ZoneOf(rostertest.Incarnation(name)); zone != want {
			t.Errorf("%s is in zone %q", name, zone)
		}
	}
}
