package partition

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// A holder may outlive all members of a grid and meet the next grid with the same name. Its claim
// is unverified, and a holder from an unrelated grid would claim the same. The claim therefore
// moves floors no further than an earlier run can have granted if the clocks are right.

// EarlierMargin is added to the window where a grid has to assume that an earlier life
// ended just now, under a clock that was ahead of this one.
const EarlierMargin = 5 * time.Second

// EarlierBound returns the latest credible end of a grant from an earlier grid, at a cluster time;
// 0 for none. A durable grid has a record of its own grants: an earlier grid is possible only while
// earlier holders may still use their grants.
func EarlierBound(r *roster.Roster, now clustertime.Tick) clustertime.Tick {
	ahead := r.Settings.Window + clustertime.SpanOf(EarlierMargin)
	if r.KeepsLog && now > r.Began.Add(ahead) {
		return 0
	}
	return now.Add(ahead)
}

// earlier is the decision about a claim from an earlier grid.
type earlier int

const (
	covered   earlier = iota // by the floor: it is served
	foreign                  // from an unrelated grid
	believed                 // every floor goes above it first (S2)
	contained                // only its logical node is kept for it
	unknown                  // under a later anchor claim than this member's, or from another grid
)

// judgeEarlier decides about a claim with another grid's ID.
func judgeEarlier(r *roster.Roster, floor, now, until clustertime.Tick) earlier {
	bound := EarlierBound(r, now)
	switch {
	case until <= floor:
		return covered
	case r.Claim != "" && until > r.Ceiling: // the anchor bounds whatever came before
		return unknown
	case r.Claim != "":
		return contained
	case bound == 0:
		return foreign
	case until <= bound:
		return believed
	}
	return contained
}

// check rejects a claim from another run of the grid whose grant ends above this partition's
// floor: a grid that starts with nothing stored assumes that clocks were not stepped back since an
// earlier run, and such a grant disproves the assumption (S2). A grant with an incredible end is
// contained: nothing below its end is granted on its logical node to another holder.
func (e earlier) check(v View, c Claim) error {
	switch e {
	case foreign:
		return failure.Errorf(sequencer.ErrDestroyed,
			"sequencer %q: its holder was attached to grid %s, which is not an earlier run of %s; create it again here",
			c.Ref.Definition.Name(), c.Grid, v.Roster.Grid)
	case unknown:
		return failure.Errorf(sequencer.ErrUnavailable,
			"sequencer %q: the holder has a grant up to %d ms under another anchor claim, above this member's ceiling of %d ms",
			c.Ref.Definition.Name(), c.Until, v.Roster.Ceiling)
	case believed:
		return failure.Errorf(sequencer.ErrUnavailable,
			"sequencer %q: an earlier life of the grid granted beyond the floor; the floors are being raised",
			c.Ref.Definition.Name())
	}
	return nil
}

// ofLaterClaim reports whether a holder may have been answered under a later anchor claim than this
// member's. A member that receives raises of the ceiling has the present one. A replaced owner
// without replicas cannot detect its replacement. It would mistake a life created under the later
// claim for one that has ended.
func (v View) ofLaterClaim(c Claim) bool {
	return v.Roster.Claim != "" && c.Grid != v.Roster.Identity() &&
		v.Roster.Ceiling < v.Time.Add(v.Roster.Settings.Window/2)
}
