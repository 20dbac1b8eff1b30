package partition

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// A holder may outlive all members of a grid and meet the next one of the name. What it
// shows is its word, and a holder of any other grid has the same to say. So it moves
// floors no further than an earlier life can have granted if the clocks are right.

// EarlierMargin is added to the window where a grid has to assume that an earlier life
// ended just now, under a clock that was ahead of this one.
const EarlierMargin = 5 * time.Second

// EarlierBound returns the latest credible end of a grant of an earlier grid, at a cluster
// time; 0 for none. A durable grid knows its own grants: an earlier grid is possible only
// while holders from before may still use theirs.
func EarlierBound(r *roster.Roster, now clustertime.Tick) clustertime.Tick {
	ahead := r.Settings.Window + clustertime.SpanOf(EarlierMargin)
	if r.KeepsLog && now > r.Began.Add(ahead) {
		return 0
	}
	return now.Add(ahead)
}

// earlier is the decision about a claim of an earlier grid.
type earlier int

const (
	covered   earlier = iota // by the floor: it is served
	foreign                  // of an unrelated grid
	believed                 // every floor goes above it first (S2)
	contained                // only its logical node is kept for it
	unknown                  // of a later claim than this member knows, or of another grid
)

// judgeEarlier decides about a claim that shows another grid's ID.
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

// checkEarlier refuses a claim from another life of the grid whose grant reaches
// beyond this partition's floor, and has the leader raise the floors (S2): a grid that
// starts with nothing stored assumes that clocks were not stepped back since an earlier
// life, and such a grant proves the assumption wrong. A grant that reaches further than
// that is contained: nothing below its end is granted on its logical node to another.
func (m *Machine) checkEarlier(v View, c Claim) error {
	if c.Grid == v.Roster.Identity() {
		return nil
	}
	floor, now := v.Roster.Partitions[m.id].Floor, v.Bounds().Now
	if c.Until > floor && now == 0 {
		return errNoTime // the credible limit is not known yet
	}
	switch judgeEarlier(v.Roster, floor, now, c.Until) {
	case foreign:
		return failure.Errorf(sequencer.ErrDestroyed, "sequencer %q: its holder was attached to grid %s, which is not an earlier run of %s; create it again here",
			c.Ref.Definition.Name(), c.Grid, v.Roster.Grid)
	case unknown:
		return failure.Errorf(sequencer.ErrUnavailable, "sequencer %q: its holder was granted up to %d ms under another claim of the grid's anchor, and the ceiling that this member knows is %d ms",
			c.Ref.Definition.Name(), c.Until, v.Roster.Ceiling)
	case believed:
		m.member.ReportEarlier(c.Until)
		return failure.Errorf(sequencer.ErrUnavailable, "sequencer %q: an earlier life of the grid granted beyond the floor; the floors are being raised",
			c.Ref.Definition.Name())
	}
	return nil
}

// shownUntil is up to where the logical node that a claim shows is kept for it, 0 for a
// claim that shows none or needs no such thing.
func (m *Machine) shownUntil(v View, c Claim) clustertime.Tick {
	if c.Grid == v.Roster.Identity() || c.Any || c.ID.IsZero() {
		return 0
	}
	if judgeEarlier(v.Roster, v.Roster.Partitions[m.id].Floor, v.Bounds().Now, c.Until) != contained {
		return 0
	}
	return c.Until
}

// ofLaterClaim reports whether a holder may have been answered under a later claim of the
// grid's anchor than this member knows. A member that hears of raises of the ceiling knows the
// present one. An owner that was replaced unheard, and has no replica to ask, would take a life
// that began under the later claim for one that has ended.
func (v View) ofLaterClaim(c Claim) bool {
	return v.Roster.Claim != "" && c.Grid != v.Roster.Identity() && v.Roster.Ceiling < v.Time.Add(v.Roster.Settings.Window/2)
}
