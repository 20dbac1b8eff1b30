package partition

import (
	"slices"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// Census is a table's number of sequencers. It is immutable.
type Census struct {
	Quotas []roster.Quota // that Rows is of
	Names  int            // lives that have not ended
	Rows   []int          // sequencers under each row of the quotas
}

// census keeps a table's counts, so that a create need not count a million names. Each record
// change that begins or ends a life updates it; replacing all records resets it. The zero value has
// counted nothing.
type census struct {
	now  *Census // nil: not counted
	told *Census // a copy of now, nil if that has changed since
}

// Census returns the counts for rows of quotas: the same pointer while nothing has changed.
func (t *Table) Census(quotas []roster.Quota) *Census {
	c := &t.census
	if c.now == nil || !sameRows(c.now.Quotas, quotas) {
		*c = census{now: &Census{Quotas: quotas, Rows: make([]int, len(quotas))}}
		for name, r := range t.records {
			if !r.Destroyed {
				c.add(name, 1)
			}
		}
	}
	if c.told == nil {
		told := *c.now
		told.Rows = slices.Clone(told.Rows)
		c.told = &told
	}
	return c.told
}

// sameRows reports whether two lists are equal. Rosters share theirs until it changes.
func sameRows(a, b []roster.Quota) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// add counts the begin of a life, or, with -1, its end.
func (c *census) add(name string, n int) {
	if c.now == nil {
		return
	}
	c.told = nil
	c.now.Names += n
	if i := roster.QuotaOf(c.now.Quotas, name); i >= 0 {
		c.now.Rows[i] += n
	}
}

// lives returns whether a record is of a life that has not ended.
func (r *record) lives() bool { return r != nil && !r.Destroyed }

// became counts a record that lived, or not, before a change.
func (c *census) became(name string, lived bool, r *record) {
	switch lives := r.lives(); {
	case lives && !lived:
		c.add(name, 1)
	case lived && !lives:
		c.add(name, -1)
	}
}
