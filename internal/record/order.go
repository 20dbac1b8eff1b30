package record

import (
	"cmp"
	"slices"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Candidate is a logical node with its record as it was read.
type Candidate struct {
	Node   sequencer.NodeID
	Record Record
}

// soon is how far ahead a grant may begin and the record count as one that can be used
// immediately: a record is returned in the millisecond of its last ID.
const soon clustertime.Span = 100

// Order returns the candidates that an attachment may try to take at b.Now, in the order
// in which it should: the preferred node, then those that can be used immediately, free
// ones before expired ones, then those that were granted to a time ahead, the earliest
// first; each by node. Records that are held, retired, damaged, destroyed or too far ahead
// are left out, and ahead is how many are too far ahead.
func Order(all []Candidate, p sequencer.Preference, b Bounds) (order []Candidate, ahead int) {
	type rank struct {
		Candidate
		class int
		from  clustertime.Tick
	}
	var ranked []rank
	for _, c := range all {
		taken, err := c.Record.Take(sequencer.AttachmentID{1}, "", "-", b)
		switch {
		case err != nil:
			if c.Record.farAhead(b) {
				ahead++
			}
			continue
		case !c.Record.Acquirable(b.Now):
			continue
		}
		r := rank{Candidate: c}
		switch {
		case !p.Any && c.Node == p.Node:
		case taken.From.Sub(max(b.Now, b.Epoch)) > soon:
			r.class, r.from = 3, taken.From
		case c.Record.State == Held:
			r.class = 2
		default:
			r.class = 1
		}
		ranked = append(ranked, r)
	}
	slices.SortFunc(ranked, func(a, b rank) int {
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.from, b.from), cmp.Compare(a.Node, b.Node))
	})
	for _, r := range ranked {
		order = append(order, r.Candidate)
	}
	return order, ahead
}
