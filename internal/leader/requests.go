package leader

import (
	"maps"
	"slices"

	"github.com/snowgrid/snowgrid/internal/clustertime"
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

// Identify takes a step of a set. The reply is nil when the step is in the roster, or the
// roster's refusal. proposed is false if the roster that this leader has applied decided it: the
// caller then confirms that this leader still leads before it passes the reply on.
func (l *Leader) Identify(v View, c roster.Identity, reply func(proposed bool, err error)) {
	l.numbers.request(v, c, reply)
}

// Clean removes the numbers of a set whose processes are dead; force removes all. The reply
// contains the removed numbers. Errors match [ErrAlive], or are errors of [Leader.Identify].
func (l *Leader) Clean(v View, cluster, set string, ids []uint64, force bool,
	reply func(removed []uint64, proposed bool, err error)) {
	l.numbers.clean(v, cluster, set, ids, force, cleanTries, reply)
}

// Sign records that the process with a number is alive, with its logical nodes by sequencer. nil
// keeps the recorded nodes. It returns the earlier nodes.
func (l *Leader) Sign(v View, cluster, set string, id uint64, nodes map[string]uint16) (before map[string]uint16) {
	return l.numbers.sign(v, cluster, set, id, nodes)
}

// LivenessOf returns the state of the process with a number: a member of the grid is alive while
// the roster lists it or gossip sees it, and any process is alive for a while after its last sign.
func (l *Leader) LivenessOf(v View, cluster, set string, m roster.Numbered) Liveness {
	return l.numbers.livenessOf(v, cluster, set, m)
}
