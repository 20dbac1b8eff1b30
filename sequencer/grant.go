package sequencer

import (
	"github.com/snowgrid/snowgrid/internal/attachment/bridge"
	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// rights are all grants that one attachment received: disjoint, not touching, in ascending
// order, immutable. The gap between two grants must not be used, since it may belong to
// another attachment.
type rights struct {
	grants []bridge.Grant
	// replaced is closed when a newer rights value takes this one's place or
	// the generator was stopped; callers that wait for a grant wait on it.
	replaced chan struct{}
	// refused is the reason why renewal is currently refused, or nil.
	refused error
}

func newRights(grants []bridge.Grant) *rights {
	return &rights{grants: grants, replaced: make(chan struct{})}
}

// hold reports whether timestamp t lies inside a grant.
func (r *rights) hold(t clustertime.Tick) bool { return !r.around(t).Empty() }

// around returns the grant that holds timestamp t, or an empty one.
func (r *rights) around(t clustertime.Tick) bridge.Grant {
	for _, g := range r.grants {
		if g.Holds(t) {
			return g
		}
	}
	return bridge.Grant{}
}

// after returns the first timestamp above t that lies inside a grant.
func (r *rights) after(t clustertime.Tick) (clustertime.Tick, bool) {
	for _, g := range r.grants {
		if g.From > t {
			return g.From, true
		}
	}
	return 0, false
}

// refusedAt returns the reason why a caller without a grant for timestamp t need not wait for one,
// or nil if it has to wait.
func (r *rights) refusedAt(t clustertime.Tick) error {
	if _, later := r.after(t); later {
		return nil
	}
	return r.refused
}

// until returns the last grant's end, or 0.
func (r *rights) until() clustertime.Tick {
	if len(r.grants) == 0 {
		return 0
	}
	return r.grants[len(r.grants)-1].Until
}

// with returns rights with g added, without the grants that end at or below used, which are no
// longer needed.
func (r *rights) with(g bridge.Grant, used clustertime.Tick) *rights {
	if g.Empty() {
		return r
	}
	merged := make([]bridge.Grant, 0, len(r.grants)+1)
	placed := false
	for _, have := range r.grants {
		switch {
		case have.Until <= used && have.Until < g.From:
			continue
		case have.Until < g.From:
			merged = append(merged, have)
		case g.Until < have.From:
			if !placed {
				merged, placed = append(merged, g), true
			}
			merged = append(merged, have)
		default:
			g = bridge.Grant{From: min(g.From, have.From), Until: max(g.Until, have.Until)}
		}
	}
	if !placed {
		merged = append(merged, g)
	}
	return newRights(merged)
}
