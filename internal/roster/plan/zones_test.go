package plan

import (
	"slices"
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/internal/rostertest"
)

// TestPlanZones: a member whose stated zone differs from the roster gets the stated one. A member
// that leaves or restarts does not, and neither does one whose zone is not stated.
func TestPlanZones(t *testing.T) {
	a, b := rostertest.Incarnation("a1"), rostertest.Incarnation("b1")
	r := settledGrid(t, 3, "a1", "b1")
	for name, tt := range map[string]struct {
		zones  map[roster.Incarnation]string
		change roster.Change
		want   []roster.Zoning
	}{
		"stated": {zones: map[roster.Incarnation]string{a: "east"}, want: []roster.Zoning{{Member: a, Zone: "east"}}},
		"both": {zones: map[roster.Incarnation]string{a: "east", b: "west"},
			want: []roster.Zoning{{Member: a, Zone: "east"}, {Member: b, Zone: "west"}}},
		"as it is":   {zones: map[roster.Incarnation]string{a: ""}},
		"not stated": {},
		"leaves": {zones: map[roster.Incarnation]string{a: "east"},
			change: roster.Change{Remove: []roster.Incarnation{a}}},
		"starts again": {zones: map[roster.Incarnation]string{a: "east"},
			change: roster.Change{Join: rostertest.Records([]string{"a2"})}},
		"another starts": {zones: map[roster.Incarnation]string{a: "east"},
			change: roster.Change{Join: rostertest.Records([]string{"b2"})}, want: []roster.Zoning{{Member: a, Zone: "east"}}},
	} {
		if rezone(r, Sight{Zones: tt.zones}, &tt.change); !slices.Equal(tt.change.Zones, tt.want) {
			t.Errorf("%s: %+v, want %+v", name, tt.change.Zones, tt.want)
		}
	}
}
