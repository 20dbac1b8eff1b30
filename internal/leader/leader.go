// Package leader implements the decisions of the member that leads the grid: it raises the
// ceiling, admits and removes members, detects failed members, moves partitions, and maintains
// the number of voters. Uniqueness does not depend on it: every change of the roster is a
// command computed from one version, and refused at any other (R2, R7).
//
// A [Leader] lasts from an election to the end of that lead. It has no clock, lock, socket or
// goroutine: each method takes a [View] with the time and the member's state, and calls its
// [Member] to act. Each action that takes time has its outcome reported by a later call:
//
//	Member               Leader
//	Probe           ---> Probed
//	Propose         ---> Proposed
//	Reconfigure     ---> Reconfigured
//	TransferLead    ---> LeadTransferred
//	Dismiss         ---> Dismissed
//	Anchor          ---> Anchored
//
// The member pushes commands to the others unasked, and reports each answer to
// [Leader.PushAnswered]. Package grid drives a Leader over sockets, and proof/sim drives the same
// code in a loop.
//
// A Leader composes machines of the same kind. Each has its own state, and references to the other
// machines that it depends on, and to the [Member]:
//
//	anchoring    the record of an anchored grid, and what the leader may propose
//	ceiling      cluster time and the ceiling
//	detector     failed members
//	admission    members that join and leave
//	voters       votes and standby servers; additions adds servers
//	succession   passing the lead on
//	reports      reports of partition owners
//	protocols, forgets, settingsChanges, removals: requests of operators
//	numbers      the numbers of processes: package numbers
package leader

import (
	"maps"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/leader/anchor"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// StepEvery is the interval of [Leader.Step] while there is something to do.
const StepEvery = 100 * time.Millisecond

// Config has the constants of a lead.
type Config struct {
	Self   roster.Member // its roster record
	Grid   roster.GridID
	Expect int // number of initial members
	// Release is the release of this process; the zero value is a release of protocol 1.
	Release roster.Release
	// Servers is the number of Raft servers, 0 for [ServersMost].
	Servers int
	// Anchored means that this member has the store of the grid's anchor. Ahead is the distance
	// of its record ahead of cluster time, 0 for the default.
	Anchored bool
	Ahead    time.Duration
	// Silence is the silence of the previous leader, if this member stood for election because of it.
	Silence Silence
}

// Member carries out the decisions of a leader. No method may call the [Leader]. Each call except
// InUse and ReportClocks has exactly one outcome, reported to the named method.
type Member interface {
	// Probe probes a member; the outcome goes to [Leader.Probed].
	Probe(p Probe)
	// Propose proposes a command to Raft; the outcome goes to [Leader.Proposed].
	Propose(c roster.Command)
	// Reconfigure changes Raft's servers; the outcome goes to [Leader.Reconfigured].
	Reconfigure(c Reconfiguration)
	// TransferLead passes the lead to a voter; the outcome goes to
	// [Leader.LeadTransferred].
	TransferLead(to ServerID)
	// Dismiss requests that a member leaves the grid; the outcome goes to [Leader.Dismissed].
	Dismiss(d Dismissal)
	// Anchor reads or swaps the record of the grid's anchor; the outcome goes to
	// [Leader.Anchored].
	Anchor(s anchor.Step)
	// InUse reports that another process has this member's identity: an error that matches
	// [ErrIdentityInUse]. This member does not join while that process answers.
	InUse(err error)
	// ReportClocks reports clocks that an operator has to check.
	ReportClocks(v clustertime.Verdict)
}

// Leader is the grid's leader during one lead. It is not safe for concurrent use.
type Leader struct {
	cfg    Config
	self   roster.Incarnation
	server ServerID // this member's
	timer  stepTimer

	changes    changes
	anchoring  anchoring
	ceiling    ceiling
	detector   detector
	admission  admission
	voters     voters
	additions  additions
	succession succession
	reports    reports

	protocols protocols
	forgets   forgets
	settings  settingsChanges
	removals  removals
	numbers   numbers.Tracker

	planning planning
	activity activity
}

// New returns the leader that a member becomes when it is elected.
func New(cfg Config, m Member) *Leader {
	self, server := cfg.Self.Incarnation, ServerOf(cfg.Self.Incarnation, cfg.Self.Durable)
	l := &Leader{cfg: cfg, self: self, server: server}
	l.changes = changes{out: m}
	l.ceiling = ceiling{server: server, out: m}
	l.detector = detector{self: self, silence: cfg.Silence, out: m, timer: &l.timer,
		contacts: map[roster.Incarnation]*contact{}}
	l.admission = admission{self: cfg.Self, grid: cfg.Grid, release: cfg.Release, out: m, silent: l.voters.isSilent,
		inquiries: inquiries{out: m, open: map[uint64]*inquiry{}}, joins: map[roster.Incarnation]join{},
		leaves: map[roster.Incarnation]bool{}, failed: map[roster.Incarnation]bool{}}
	l.voters = voters{self: self, server: server, most: cfg.Servers, members: &l.admission, live: &l.detector, out: m,
		departures: departures{}, givenUp: map[ServerID]bool{}}
	l.additions = additions{admission: &l.admission, detector: &l.detector, voters: &l.voters, out: m,
		tried: map[ServerID]bool{}}
	l.succession = succession{self: self, server: server, members: &l.admission, out: m}
	l.reports = reports{held: map[roster.Replica]roster.Version{}, persisted: map[roster.PartitionID]roster.Version{},
		unreached: map[roster.Incarnation]unreached{}}
	l.anchoring = anchoring{self: self, changes: &l.changes, succession: &l.succession, out: m}
	if cfg.Anchored {
		l.anchoring.machine = anchor.New(self, cfg.Ahead)
	}
	l.protocols = protocols{self: self, own: cfg.Release, detector: &l.detector, claimant: &l.anchoring,
		changes: &l.changes}
	l.forgets = forgets{self: self, claimant: &l.anchoring, changes: &l.changes, out: m}
	l.settings = settingsChanges{claimant: &l.anchoring, changes: &l.changes}
	l.removals = removals{self: self, admission: &l.admission, detector: &l.detector, voters: &l.voters,
		settings: &l.settings, out: m}
	l.numbers = numbers.NewTracker()
	return l
}

// Step does everything that is due. It is called when [Leader.Due] or [Leader.Reported] requires
// it, after the member has applied the whole log of earlier leaders and the grid is formed.
func (l *Leader) Step(v View) {
	if l.activity.began == 0 {
		l.activity.began = v.Mono
	}
	l.step(v)
	l.activity.observe(v, l.inProgress(v))
}

func (l *Leader) step(v View) {
	l.Numbers(v) // it records pauses of this process
	if l.timer.at <= v.Mono {
		l.timer.at = never
	}
	if !l.anchoring.step(l.anchoringView(v)) {
		l.detector.step(v)
		l.succession.step(v, l.activity.began)
		l.protocols.step(v) // it answers requests that have waited too long
		return
	}
	if !l.admission.joinSelf(v) {
		v.Leaving = v.Leaving || l.admission.refused // another voter leads instead
		l.succession.step(v, l.activity.began)
		l.protocols.step(v)
		return
	}
	l.detector.step(v)
	l.ceiling.step(l.ceilingView(v))
	l.additions.step(v)
	l.removals.step(v)
	l.voters.step(v)
	l.succession.step(v, l.activity.began)
	l.protocols.step(v)
	l.plan(v)
}

// Resign answers all open requests. This member is no longer the leader, and no method is called
// after it.
func (l *Leader) Resign() {
	inquiries := l.admission.inquiries.open
	for _, round := range slices.Sorted(maps.Keys(inquiries)) {
		inquiries[round].reply(errNotLeading)
	}
	clear(inquiries)
	for _, w := range l.protocols.waiting {
		w.reply(errNotLeading)
	}
	l.numbers.Resign(errNotLeading)
	for _, s := range l.settings.open { // the proposed one may still be agreed on
		s.reply(errNotLeading)
	}
	for _, f := range l.forgets.open {
		f.reply(Forgotten{}, errNotLeading)
	}
	for _, r := range l.removals.open {
		r.reply(Removed{}, errNotLeading)
	}
}

func (l *Leader) ceilingView(v View) ceilingView {
	return ceilingView{View: v, limit: l.anchoring.limit(v.Roster)}
}

func (l *Leader) anchoringView(v View) anchoringView {
	return anchoringView{View: v, self: l.cfg.Self, earlier: l.reports.earlier}
}

// Proposed records the outcome of a command that this leader proposed.
func (l *Leader) Proposed(v View, c roster.Command, err error) {
	switch {
	case c.Raise != nil:
		l.ceiling.proposed(v.Mono, err)
		return
	case c.Identity != nil:
		l.Numbers(v).Proposed(c.Identity, err)
		return
	}
	l.changes.pending = false
	if err == nil { // the next change may be due
		l.timer.advance(v.Mono)
	}
	if c.Change != nil && c.Change.Window > 0 && err == nil {
		// The next raise by the earlier window may be minutes away, and members, holders and alerts measure the
		// ceiling's lead by the new window.
		l.ceiling.next = v.Mono
	}
	if c.Reset != nil && err == nil { // a member again: it stays until another leads
		l.succession.yielded = false
	}
	l.protocols.step(v)
	l.forgets.proposed(v, c, err)
	l.settings.proposed(v, c, err)
}

// Probed records the outcome of a probe. An error that matches [ErrAbsent] proves that
// the incarnation is not there; any other is silence.
func (l *Leader) Probed(v View, p Probe, a Answer, err error) {
	switch p.purpose {
	case forDetection:
		l.detector.probed(v, p, a, err)
	case forClocks:
		l.ceiling.clockRead(l.ceilingView(v), p, a, err)
	case forVoters:
		l.voters.surveyed(v, p, err)
	case forSuccession:
		l.succession.answered(p, a, err)
	case forInquiry:
		l.admission.inquiries.probed(v, p, a, err)
	case forForget:
		l.forgets.probed(v, p, err)
	case forRemoval:
		l.removals.probed(v, p, err)
	}
}

// Unreached records a sign that a member may have ended or paused: Raft's last request to its
// server failed, or, with slow set, has had no answer for a while. The member is probed
// immediately, or, if slow, at most once per probeUnsigned. A sign decides nothing.
func (l *Leader) Unreached(v View, server ServerID, slow bool) {
	m, found := MemberOf(v.Roster, server)
	c := l.detector.contacts[m.Incarnation]
	if !found || c == nil {
		return
	}
	c.signed = v.Mono
	if c.failing {
		return // a failing member is probed soon in any case
	}
	earliest := c.began + refusedApart
	if slow {
		earliest = c.began + probeUnsigned
	}
	c.next = min(c.next, max(v.Mono, earliest))
	l.detector.advance(v, c)
}

// PushAnswered records a member's answer to a push that began at a time by the monotonic clock,
// and reports whether a step is due by it. If not, [Leader.Due] need not be called: the next step
// is not due sooner than before.
func (l *Leader) PushAnswered(v View, to roster.Incarnation, began time.Duration, a Answer) (due bool) {
	return l.detector.pushAnswered(v, to, began, a)
}

// Reconfigured records the outcome of a reconfiguration. A failed one is decided again at the
// next step.
func (l *Leader) Reconfigured(v View, c Reconfiguration) {
	if c.Do != AddServer {
		l.voters.reconfiguring = false
		return
	}
	l.additions.adding = false
	l.additions.next(v)
}

// LeadTransferred records that the transfer of the lead has ended. If this member still leads,
// the transfer failed.
func (l *Leader) LeadTransferred() { l.succession.ended() }

// Dismissed records the outcome of a dismissal.
func (l *Leader) Dismissed(v View, d Dismissal, err error) { l.removals.dismissed(v, d, err) }

// Anchored records the outcome of a read or a swap of the anchor's record.
func (l *Leader) Anchored(v View, s anchor.Step, out anchor.Outcome) {
	before := l.anchoring.limit(v.Roster)
	l.anchoring.machine.Done(l.anchoringView(v).machineView(), s, out)
	if l.anchoring.limit(v.Roster) > before && l.ceiling.bound { // the previous limit held back the last raise
		l.ceiling.next = v.Mono
	}
	l.anchoring.step(l.anchoringView(v))
}

// AnchorStatus returns the state of this leader's claim to the anchor's record, false without an
// anchor.
func (l *Leader) AnchorStatus(v View) (AnchorStatus, bool) {
	x := &l.anchoring
	switch {
	case x.machine != nil:
		record, err := x.machine.Seen()
		return AnchorStatus{State: x.machine.State(l.anchoringView(v).machineView()), Record: record,
			Limit: x.limit(v.Roster), Err: err}, true
	case v.Roster.Anchored:
		return AnchorStatus{State: Unanchored}, true
	}
	return AnchorStatus{}, false
}
