package leader

import (
	"cmp"
	"maps"
	"slices"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/leader/anchor"
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
// removed, or its vote may stay behind. Until then its vote may be needed to agree on the removal.
func (l *Leader) Departed(v View, inc roster.Incarnation, server ServerID) bool {
	_, member := v.Roster.Member(inc)
	return !member && (!v.serves(server) || l.voters.leavesVote(v, server))
}

// Reported records a report of a partition owner, and reports whether a step is due. A report of
// another member, or of another version than the roster's, has no effect.
func (l *Leader) Reported(v View, in Report) (due bool, err error) { return l.reports.record(v, in) }

// ShowEarlier records the end of a grant of an earlier run of the grid, which a holder has
// presented: the next plan raises all floors above it (S2). It reports whether that is later than
// all before.
func (l *Leader) ShowEarlier(until clustertime.Tick) (later bool) {
	later = until > l.reports.earlier
	l.reports.earlier = max(l.reports.earlier, until)
	return later
}

// Apart returns, ascending, the pairs of members that do not reach each other while both answer
// this leader. The failure detector decides about all other pairs.
func (l *Leader) Apart(v View) []plan.Pair {
	pairs := map[plan.Pair]bool{}
	for owner, u := range l.reports.unreached {
		if v.Mono-u.at > unreachedKept {
			delete(l.reports.unreached, owner)
			continue
		}
		for _, m := range u.members {
			if l.detector.reaches(v, owner) && l.detector.reaches(v, m) {
				pairs[plan.PairOf(owner, m)] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(pairs),
		func(a, b plan.Pair) int { return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B)) })
}

// Need requests a protocol of the roster for a part that needs it. The reply is nil when the
// roster has it, [ErrNotNow] with the members that do not have it, and [ErrUnavailable] if a
// member has not answered.
func (l *Leader) Need(v View, p roster.Protocol, part string, reply func(error)) {
	l.protocols.request(v, p, part, reply)
}

// ForgetDisk gives up a member's disk: no partition waits for it any longer.
func (l *Leader) ForgetDisk(v View, in ForgetRequest, reply func(Forgotten, error)) {
	l.forgets.open = append(l.forgets.open, &forget{in: in, reply: reply})
	l.forgets.propose(v)
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
func (l *Leader) TakeAnchor(v View, reply func(error)) {
	status, anchored := l.AnchorStatus(v)
	switch {
	case !anchored:
		reply(failure.Errorf(ErrNotNeeded, "grid: this grid has no anchor"))
	case status.State == anchor.Waiting || status.State == anchor.Lost || status.State == anchor.Missing:
		l.anchoring.machine.Take()
		reply(nil)
	case status.State == anchor.Held || status.State == anchor.Taking:
		reply(failure.Errorf(ErrNotNeeded, "grid: the anchor's record belongs to this grid already"))
	default:
		reply(failure.Errorf(ErrNotNow, "grid: the anchor's record cannot be taken: it is %s", status.State))
	}
}

// Numbers returns the tracker of the processes that have numbers, with the view.
func (l *Leader) Numbers(v View) *numbers.Tracker {
	command := func(c *numbers.Command) roster.Command { return roster.Command{Claim: v.Roster.Claim, Identity: c} }
	l.numbers.Look(numbers.View{
		Registry: v.Roster.Registry, Grid: v.Roster.Settings.Name, Now: v.Mono,
		Sees: func(member string) bool { // in the roster, or by gossip
			id := roster.MemberID(member)
			_, found := registered(v.Roster, id)
			return found || slices.ContainsFunc(v.Peers, func(p Peer) bool { return p.Incarnation.Member() == id })
		},
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
