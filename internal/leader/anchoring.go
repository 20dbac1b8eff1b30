package leader

import (
	"errors"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/leader/anchor"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// An anchored grid has a record in a store that limits its ceiling (package anchor). A
// leader that is not a member of the roster, or of a roster without a claim, takes that
// record and resets the roster before it proposes anything else (A3):
//
//	            a registered voter answers
//	elected --------------------------------> the lead is passed to it
//	   |  none does
//	   +--> waiting --> taking --> reset --> leading, like one that was registered

// AnchorStatus is how a leader stands to the record, for people.
type AnchorStatus struct {
	State  anchor.State
	Record anchor.Record    // as it was seen last
	Limit  clustertime.Tick // the ceiling may rise up to here; 0 for no further
	Err    error            // why the last read or swap has no result
}

// Unanchored is the state of a leader that has no store where the grid has an anchor: it
// can raise nothing.
const Unanchored anchor.State = "not configured"

// anchorView returns the view of the record's machine.
func (l *Leader) anchorView(v View) anchor.View {
	return anchor.View{Roster: v.Roster, Mono: v.Mono, Wall: v.Wall, Need: l.requests.earlier, Draw: v.Draw}
}

// keepAnchor makes the requests that are due about the record, and reports whether this leader may
// propose anything else.
func (l *Leader) keepAnchor(v View) bool {
	_, member := v.Roster.Member(l.self)
	if l.anchor == nil && v.Roster.Anchored && !member {
		l.yielded = false
		l.yields(v)
		return false
	}
	if l.anchor == nil {
		return true
	}
	if v.Leaving && !member && l.succeeded(v) && l.hasSuccessor(v) {
		return false // it has left, and takes no record: it passes the lead on
	}
	if !l.anchor.Registered(v.Roster) && l.yields(v) {
		return false
	}
	if c, due := l.anchor.Reset(v.Roster, l.cfg.Self); due {
		if !l.changing {
			l.propose(c)
		}
		return false
	}
	if s := l.anchor.Step(l.anchorView(v)); s.Read || s.Swap != nil {
		l.member.Anchor(s)
	}
	return l.anchor.Registered(v.Roster)
}

// claims reports whether this leader may propose anything but a reset of the roster (A3). Whatever proposes
// outside of [Leader.Step] asks it first.
func (l *Leader) claims(r *roster.Roster) bool {
	if l.anchor != nil {
		return l.anchor.Registered(r)
	}
	_, member := r.Member(l.self)
	return member || !r.Anchored
}

// errUnclaimed refuses what an operator asks of a leader that has not reset the roster yet.
var errUnclaimed = errors.New("the grid's anchor has not been taken yet; try again")

// Anchored records the outcome of a read or a swap of the record.
func (l *Leader) Anchored(v View, s anchor.Step, out anchor.Outcome) {
	before := l.limit(v.Roster)
	l.anchor.Done(l.anchorView(v), s, out)
	if l.limit(v.Roster) > before && l.ceiling.bound {
		l.ceiling.next = v.Mono // the last raise was held back
	}
	l.keepAnchor(v)
}

// limit returns how far the ceiling of an anchored grid may rise, 0 for no further.
func (l *Leader) limit(r *roster.Roster) clustertime.Tick {
	if l.anchor == nil {
		return 0
	}
	return l.anchor.Limit(r)
}

// AnchorStatus returns how this leader stands to the record, false without an anchor.
func (l *Leader) AnchorStatus(v View) (AnchorStatus, bool) {
	switch {
	case l.anchor != nil:
		record, err := l.anchor.Seen()
		return AnchorStatus{State: l.anchor.State(l.anchorView(v)), Record: record, Limit: l.limit(v.Roster), Err: err}, true
	case v.Roster.Anchored:
		return AnchorStatus{State: Unanchored}, true
	}
	return AnchorStatus{}, false
}

// TakeAnchor has the record taken on a person's request, from any present holder.
func (l *Leader) TakeAnchor(v View, reply func(error)) {
	status, anchored := l.AnchorStatus(v)
	switch {
	case !anchored:
		reply(failure.Errorf(ErrNotNeeded, "grid: this grid has no anchor"))
	case status.State == anchor.Waiting || status.State == anchor.Lost || status.State == anchor.Missing:
		l.anchor.Take()
		reply(nil)
	case status.State == anchor.Held || status.State == anchor.Taking:
		reply(failure.Errorf(ErrNotNeeded, "grid: the anchor's record is this grid's"))
	default:
		reply(failure.Errorf(ErrNotNow, "grid: the anchor's record cannot be taken: it is %s", status.State))
	}
}

// yields passes the lead of an anchored grid to a registered voter, if one answers: it
// continues without a reset, and holders need not wait. It reports whether that is still
// being tried.
func (l *Leader) yields(v View) bool {
	if v.Roster.Claim == "" || l.yielded {
		return false
	}
	if l.voters.succession == nil {
		l.yielded = !l.askSuccessors(v, func(p Peer) bool {
			_, member := v.Roster.Member(p.Incarnation)
			return member
		})
	}
	return !l.yielded
}

// foreign reports whether a member that answered is registered under another claim than
// the leader's: it is of a grid that was started from a copy of this one's data, or this
// one of a copy of its (A9).
func (a Answer) foreign(r *roster.Roster) bool { return a.Claim != "" && a.Claim != r.Claim }
