package record

import (
	"cmp"
	"slices"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Candidate is a logical node with its record as it was read.
type Candidate struct {
	Node   sequencer.NodeID
	Record Record
}

// soon is the lead time up to which a granted record still counts as usable immediately: a record
// is returned in the millisecond of its last ID.
const soon clustertime.Span = 100

// Order returns the candidates that an attachment may try to take at b.Now, in this order: the
// preferred node; records that are usable immediately, free before expired; records granted to a
// future time, the earliest first; each group by node. It omits records that are held, retired,
// damaged, destroyed or too far ahead. ahead counts the last kind.
func Order(all []Candidate, p attachment.Preference, b Bounds) (order []Candidate, ahead int) {
	type rank struct {
		Candidate
		class int
		from  clustertime.Tick
	}
	var ranked []rank
	for _, c := range all {
		taken, err := c.Record.Take(attachment.ID{1}, "", "-", b)
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
