package partition

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// rows are the quotas of the property tests, whose names are a few letters.
var rows = []roster.Quota{{Pattern: "*"}, {Pattern: "x*"}}

// checkCensus compares the counts that a table keeps with those of a table that counts all.
func checkCensus(t *rapid.T, table *Table) {
	fresh := NewTable()
	fresh.Restore(table.Snapshot())
	if got, want := table.Census(rows), fresh.Census(rows); !reflect.DeepEqual(got, want) {
		t.Fatalf("the census is %+v, and counted %+v", got, want)
	}
}

// TestCensusOfOtherRows: the counts are of the rows that are asked for.
func TestCensusOfOtherRows(t *testing.T) {
	table := NewTable()
	for _, name := range []string{"a1", "a2", "b1", "c"} {
		if _, _, err := table.Create(lifeOf(t, name, 1), 1000); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		rows []roster.Quota
		want Census
	}{
		{nil, Census{Names: 4}},
		{[]roster.Quota{{Pattern: "*"}, {Pattern: "a*"}}, Census{Names: 4, Rows: []int{2, 2}}},
		{[]roster.Quota{{Pattern: "b*"}}, Census{Names: 4, Rows: []int{1}}},
	} {
		got := table.Census(c.rows)
		if got.Names != c.want.Names || !slices.Equal(got.Rows, c.want.Rows) {
			t.Errorf("%+v: %+v, want %+v", c.rows, got, c.want)
		}
		if again := table.Census(slices.Clone(c.rows)); again != got {
			t.Error("counted again, and nothing has changed")
		}
	}
}
