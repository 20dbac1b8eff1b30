package leader

import (
	"maps"
	"slices"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/plan"
)

// Join handles a member's request to join. The reply is nil once the request is recorded; a later
// step admits the member, which repeats its request until the roster lists it.
func (l *Leader) Join(v View, in roster.Member, reply func(error)) { l.admission.join(v, in, reply) }

// Leave handles a member's request to leave, and replies nil once that member has confirmed it.
// The member may end when [Leader.Departed] returns true. failed means that its disk has failed:
// it counts as dead, because it cannot hand over.
func (l *Leader) Leave(v View, inc roster.Incarnation, failed bool, reply func(error)) {
	l.admission.leave(v, inc, failed, reply)
}

// Leavers returns, sorted, the other members that have confirmed that they leave, until they have
// left.
func (l *Leader) Leavers() []roster.Incarnation {
	return slices.Sorted(maps.Keys(l.admission.leaves))
}

// Departed reports whether a leaving member may end: it is out of the roster, and its server is
// removed, or its vote may stay behind.
func (l *Leader) Departed(v View, inc roster.Incarnation, server ServerID) bool {
	return l.voters.departed(v, inc, server)
}

// Reported records a report of a partition owner, and reports whether a step is due. A report of
// another member, or of another version than the roster's, has no effect.
func (l *Leader) Reported(v View, in Report) (due bool, err error) { return l.reports.record(v, in) }

// ShowEarlier records the end of a grant of an earlier run of the grid, which a holder has
// presented: the next plan raises all floors above it (S2). It reports whether that is later than
// all before.
func (l *Leader) ShowEarlier(until clustertime.Tick) (later bool) {
	return l.reports.showEarlier(until)
}

// Apart returns, ascending, the pairs of members that do not reach each other while both answer
// this leader.
func (l *Leader) Apart(v View) []plan.Pair {
	return l.reports.apart(v.Mono, func(i roster.Incarnation) bool { return l.detector.reaches(v, i) })
}

// Need requests a protocol of the roster for a part that needs it. The reply is nil when the
// roster has it, [ErrNotNow] with the members that do not have it, and [ErrUnavailable] if a
// member has not answered.
func (l *Leader) Need(v View, p roster.Protocol, part string, reply func(error)) {
	l.protocols.request(v, p, part, reply)
}

// ForgetDisk gives up a member's disk: no partition waits for it any longer.
func (l *Leader) ForgetDisk(v View, in ForgetRequest, reply func(Forgotten, error)) {
	l.forgets.request(v, in, reply)
}

// SetSettings changes settings. The reply is nil when the roster has the values. Errors:
// [ErrBadRequest] for a value out of range, [ErrNotNow] for a smaller window, [ErrNotConfirmed]
// for a larger one without the confirmation that the members are configured with it, and
// [ErrUnavailable].
func (l *Leader) SetSettings(v View, in SettingsRequest, reply func(error)) {
	l.settings.request(v, in, reply)
}

// RemoveMember removes a member from the grid at an operator's request. by is the operator's
// address or name, which the member's dismissal contains.
func (l *Leader) RemoveMember(v View, id roster.MemberID, by string, reply func(Removed, error)) {
	l.removals.request(v, id, by, reply)
}

// TakeAnchor takes the anchor's record at an operator's request, from any present holder.
func (l *Leader) TakeAnchor(v View, reply func(error)) { l.anchoring.take(l.anchoringView(v), reply) }

// Numbers returns the tracker of the processes that have numbers, with the view.
func (l *Leader) Numbers(v View) *numbers.Tracker {
	command := func(c *numbers.Command) roster.Command { return roster.Command{Claim: v.Roster.Claim, Identity: c} }
	l.numbers.Look(numbers.View{
		Registry: v.Roster.Registry, Grid: v.Roster.Settings.Name, Now: v.Mono,
		Sees: func(member string) bool { return v.seesMember(roster.MemberID(member)) },
		Try: func(c *numbers.Command) (changed bool, err error) {
			next, err := v.Roster.Apply(command(c))
			if err == nil && next != v.Roster && !l.anchoring.claims(v.Roster) {
				err = errUnclaimed
			}
			return next != v.Roster, err
		},
		Propose: func(c *numbers.Command) { l.changes.out.Propose(command(c)) },
	})
	return &l.numbers
}
