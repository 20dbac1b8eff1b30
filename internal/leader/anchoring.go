package leader

import (
	"errors"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/leader/anchor"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// AnchorStatus describes a leader's claim to the anchor's record, for operators.
type AnchorStatus struct {
	State  anchor.State
	Record anchor.Record    // the last one read
	Limit  clustertime.Tick // the ceiling may rise up to here; 0 for no further
	Err    error            // the last read or swap failed
}

// Unanchored is the state without a store in an anchored grid: the leader cannot raise the ceiling.
const Unanchored anchor.State = "not configured"

// anchoring holds the record that limits an anchored grid's ceiling (package anchor). A leader
// outside the roster, or with a roster without a claim, takes the record
// and resets the roster before it proposes anything else (A3):
//
//	            a registered voter answers
//	elected --------------------------------> the lead is passed to it
//	   |  none does
//	   +--> waiting --> taking --> reset --> leading, like a registered leader
type anchoring struct {
	self       roster.Incarnation
	machine    *anchor.Machine // nil without a store
	changes    *changes
	succession *succession
	out        Member
}

// anchoringView is the input of [anchoring].
type anchoringView struct {
	View
	self    roster.Member    // this leader's record
	earlier clustertime.Tick // the end of the grid's latest earlier grant
}

func (v anchoringView) machineView() anchor.View {
	return anchor.View{Roster: v.Roster, Mono: v.Mono, Wall: v.Wall, Need: v.earlier, Draw: v.Draw}
}

// step makes the requests about the record that are due, and reports whether this leader may
// propose anything else.
func (x *anchoring) step(v anchoringView) bool {
	_, member := v.Roster.Member(x.self)
	if x.machine == nil && v.Roster.Anchored && !member {
		x.succession.yielded = false
		x.yields(v.View)
		return false
	}
	if x.machine == nil {
		return true
	}
	if v.Leaving && !member && x.succession.mayFollow(v.View) {
		return false // it has left, and does not take the record: it passes the lead on
	}
	if !x.machine.Registered(v.Roster) && x.yields(v.View) {
		return false
	}
	if c, due := x.machine.Reset(v.Roster, v.self); due {
		if !x.changes.pending {
			x.changes.propose(c)
		}
		return false
	}
	if s := x.machine.Step(v.machineView()); s.Read || s.Swap != nil {
		x.out.Anchor(s)
	}
	return x.machine.Registered(v.Roster)
}

// claims reports whether this leader may propose anything except a reset of the roster (A3).
// Everything that proposes outside of [Leader.Step] calls it first.
func (x *anchoring) claims(r *roster.Roster) bool {
	if x.machine != nil {
		return x.machine.Registered(r)
	}
	_, member := r.Member(x.self)
	return member || !r.Anchored
}

// errUnclaimed is the error of operator requests before the leader has reset the roster.
var errUnclaimed = errors.New("the grid's anchor has not been taken yet; try again")

// limit returns the ceiling's limit, 0 if it cannot rise.
func (x *anchoring) limit(r *roster.Roster) clustertime.Tick {
	if x.machine == nil {
		return 0
	}
	return x.machine.Limit(r)
}

// yields passes an anchored grid's lead to a registered voter, if one answers: it continues
// without a reset, and holders do not wait. It reports whether an attempt is in progress.
func (x *anchoring) yields(v View) bool {
	s := x.succession
	if v.Roster.Claim == "" || s.yielded {
		return false
	}
	if s.attempt == nil {
		s.yielded = !s.probe(v, v.Roster.Claim, func(p Peer) bool {
			_, member := v.Roster.Member(p.Incarnation)
			return member
		})
	}
	return !s.yielded
}
