package grid

import (
	"slices"
	"testing"
)

// TestMergePages: no row is on a page that may come after one which an owner has not sent.
func TestMergePages(t *testing.T) {
	same := func(s string) string { return s }
	for _, c := range []struct {
		rows, nexts, want []string
		next              string
	}{
		{[]string{"c", "a", "b"}, []string{"", ""}, []string{"a", "b", "c"}, ""},
		{[]string{"a", "z", "b"}, []string{"c", ""}, []string{"a", "b"}, "c"}, // an owner has more above c, whose row is gone
		{[]string{"a", "b", "c", "d"}, []string{"", ""}, []string{"a", "b", "c"}, "c"},
		{[]string{"a", "a", "b"}, []string{"", ""}, []string{"a", "b"}, ""}, // from both owners of a partition that moves
		{[]string{"y", "z"}, []string{"m", "n"}, nil, "m"},
		{nil, nil, nil, ""},
	} {
		page, next := mergePages(slices.Clone(c.rows), c.nexts, 3, same)
		if !slices.Equal(page, c.want) || next != c.next {
			t.Errorf("%v, %v: %v and %q, want %v and %q", c.rows, c.nexts, page, next, c.want, c.next)
		}
	}
}
