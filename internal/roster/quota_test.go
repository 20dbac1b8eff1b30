package roster_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/internal/rostertest"
	"github.com/snowgrid/snowgrid/internal/spelling"
)

// quoted returns a grid with quotas.
func quoted(t *testing.T, rows ...roster.Quota) *roster.Roster {
	t.Helper()
	r := rostertest.Apply(t, rostertest.Formed(t, 1, roster.DefaultWindow),
		roster.Change{Join: rostertest.Records([]string{"a1"})})
	if len(rows) > 0 {
		r = rostertest.Apply(t, r, roster.Change{Quotas: rows})
	}
	return r
}

// TestQuotaOfMostLiteralBytes: one row counts for a name, the most specific one.
func TestQuotaOfMostLiteralBytes(t *testing.T) {
	r := quoted(t, roster.Quota{Pattern: "*"}, roster.Quota{Pattern: "shop/*"}, roster.Quota{Pattern: "shop/*/eu"},
		roster.Quota{Pattern: "*/eu"}, roster.Quota{Pattern: "shop/orders"}, roster.Quota{Pattern: "ab*"},
		roster.Quota{Pattern: "*bc"})
	for name, want := range map[string]spelling.Pattern{
		"x": "*", "shop/x": "shop/*", "shop/x/eu": "shop/*/eu", "x/eu": "*/eu", "shop/orders": "shop/orders",
		"shop/orders2": "shop/*",
		"abc":          "*bc", // as literal as ab*, and before it in order
	} {
		if got := r.Quota(name).Pattern; got != want {
			t.Errorf("%s: the row of %q counts, want %q", name, got, want)
		}
	}
	if got := quoted(t, roster.Quota{Pattern: "a*", Names: 3}).Quota("b"); got != (roster.Quota{}) {
		t.Errorf("a name that no row matches has %+v", got)
	}
}

// TestQuotasChange: rows are added, replaced and removed by commands of protocol 3, in the
// order of their patterns.
func TestQuotasChange(t *testing.T) {
	r := quoted(t, roster.Quota{Pattern: "b*", Names: 1}, roster.Quota{Pattern: "a*", Calls: 2})
	if want := []roster.Quota{{Pattern: "a*", Calls: 2}, {Pattern: "b*", Names: 1}}; !reflect.DeepEqual(r.Quotas, want) {
		t.Fatalf("%+v", r.Quotas)
	}
	before := r.Quotas
	r = rostertest.Apply(t, r, roster.Change{Quotas: []roster.Quota{{Pattern: "b*", PeerNodes: 9}},
		DropQuotas: []spelling.Pattern{"a*"}})
	if want := []roster.Quota{{Pattern: "b*", PeerNodes: 9}}; !reflect.DeepEqual(r.Quotas, want) ||
		before[0].Pattern != "a*" {
		t.Fatalf("%+v after %+v", r.Quotas, before)
	}
	r = rostertest.Apply(t, r, roster.Change{DropQuotas: []spelling.Pattern{"b*"}})
	if r.Quotas != nil {
		t.Errorf("%+v is left", r.Quotas)
	}
}

func TestQuotasRefused(t *testing.T) {
	full, long := make([]roster.Quota, roster.MaxQuotas), []roster.Quota{}
	for i := range full {
		full[i].Pattern = spelling.Pattern(fmt.Sprintf("%03d*", i))
	}
	for i := range 33 {
		long = append(long, roster.Quota{Pattern: spelling.Pattern(fmt.Sprintf("%02d%s", i, strings.Repeat("x", 253)))})
	}
	for what, c := range map[string]struct {
		r    *roster.Roster
		c    roster.Change
		want string
	}{
		"no pattern": {quoted(t), roster.Change{Quotas: []roster.Quota{{Names: 1}}}, "give 1 to 255 bytes"},
		"long pattern": {quoted(t), roster.Change{Quotas: []roster.Quota{{Pattern: spelling.Pattern(strings.Repeat("x",
			256))}}}, "has 256 bytes"},
		"control": {quoted(t), roster.Change{Quotas: []roster.Quota{{Pattern: "a\nb"}}}, "control"},
		"negative": {quoted(t), roster.Change{Quotas: []roster.Quota{{Pattern: "a", HolderNodes: -1}}},
			"holder_nodes is -1"},
		"huge": {quoted(t), roster.Change{Quotas: []roster.Quota{{Pattern: "a", Calls: roster.MaxQuota + 1}}},
			"calls is 1000000001"},
		"twice": {quoted(t), roster.Change{Quotas: []roster.Quota{{Pattern: "a"}, {Pattern: "a", Names: 1}}},
			"edited twice"},
		"set and gone": {quoted(t, roster.Quota{Pattern: "a"}),
			roster.Change{Quotas: []roster.Quota{{Pattern: "a", Names: 1}},
				DropQuotas: []spelling.Pattern{"a"}}, "edited twice"},
		"gone twice": {quoted(t, roster.Quota{Pattern: "a"}), roster.Change{DropQuotas: []spelling.Pattern{"a", "a"}},
			"does not exist"},
		"no such": {quoted(t), roster.Change{DropQuotas: []spelling.Pattern{"a"}}, "does not exist"},
		"too many": {quoted(t, full...), roster.Change{Quotas: []roster.Quota{{Pattern: "x"}}},
			"65 quotas; a grid has at most 64"},
		"too long": {quoted(t), roster.Change{Quotas: long}, "have 8415 bytes in total; at most 8192"},
	} {
		next, err := c.r.Apply(roster.Command{From: c.r.Version, Change: &c.c})
		if !errors.Is(err, roster.ErrRefused) || next != c.r || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
	for what, rows := range map[string][]roster.Quota{"twice": {{Pattern: "a"}, {Pattern: "a"}},
		"out of order": {{Pattern: "b"}, {Pattern: "a"}}} {
		form := roster.Form{Grid: roster.GridID{1}, Settings: roster.Settings{Name: "g", Partitions: 1,
			Window: roster.DefaultWindow}, Quotas: rows}
		if _, err := new(roster.Roster).Apply(roster.Command{Form: &form}); !errors.Is(err, roster.ErrRefused) {
			t.Errorf("a grid is formed with a row %s: %v", what, err)
		}
	}
}

// TestRecoveredGridHasQuotas: a grid that is formed with those of another has them.
func TestRecoveredGridHasQuotas(t *testing.T) {
	rows := []roster.Quota{{Pattern: "a*", Names: 1}}
	form := roster.Form{Grid: roster.GridID{1}, Settings: roster.Settings{Name: "g", Partitions: 1,
		Window: roster.DefaultWindow}, Quotas: rows}
	r, err := new(roster.Roster).Apply(roster.Command{Form: &form})
	if err != nil || !reflect.DeepEqual(r.Quotas, rows) {
		t.Fatalf("%+v, %v", r, err)
	}
}

// TestQuotaEdit: an edit leaves the limits that it does not name.
func TestQuotaEdit(t *testing.T) {
	none, nine := 0, 9
	got := roster.QuotaEdit{Pattern: "a", Names: &none, Calls: &nine}.Of(roster.Quota{Pattern: "a", Names: 1,
		HolderNodes: 2, PeerNodes: 3, Calls: 4})
	if want := (roster.Quota{Pattern: "a", HolderNodes: 2, PeerNodes: 3, Calls: 9}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
