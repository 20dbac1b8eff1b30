// Package leader decides for the member that leads the grid: it raises the ceiling,
// admits and removes members, detects those that fail, moves partitions, and keeps the
// number of voters. Uniqueness rests on none of it: every change of the roster is a
// command computed from one version, and refused at any other (R2, R7).
//
// A [Leader] lasts from an election to the end of that lead. It has no clock, lock,
// socket or goroutine: each method takes a [View], which has the time and all that the
// member knows, and asks its [Member] to act. Whatever takes time is asked for in one
// call and reported in another:
//
//	Member               Leader
//	Probe           ---> Probed
//	Propose         ---> Proposed
//	Reconfigure     ---> Reconfigured
//	TransferLead    ---> LeadTransferred
//	Dismiss         ---> Dismissed
//	Anchor          ---> Anchored
//
// The member pushes commands to the others unasked, and reports each answer to [Leader.Told].
// Package grid drives one over sockets, and proof/sim drives the same code in a loop.
package leader

import (
	"math"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/leader/anchor"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/plan"
)

// StepEvery is how often [Leader.Step] is called while there is something to do.
const StepEvery = 100 * time.Millisecond

// patience is how long a version of the roster is left alone so that joining replicas
// can be admitted at it.
const patience = time.Second

// View is the knowledge of the member that leads at the moment when it calls its [Leader].
// Every part of it but Servers may be late: peers that are listed may be dead.
type View struct {
	Roster  *roster.Roster   // the newest that it has applied
	Mono    time.Duration    // its monotonic clock
	Wall    clustertime.Tick // its wall clock
	Raised  Raise            // the last raise that it has applied; the zero value for none
	Servers []Server         // Raft's latest configuration, committed or not
	Peers   []Peer           // members that gossip sees alive, with or without this one; not changed
	Leaving bool             // this member leaves the grid
	Draw    anchor.Draw      // random values, new in each view; of use with an anchor alone
}

// Raise is a raise of the ceiling as a member applied it.
type Raise struct {
	Time clustertime.Tick // the cluster time that it carried
	At   time.Duration    // the member's monotonic clock then
}

// Peer is a member that gossip sees alive.
type Peer struct {
	Incarnation roster.Incarnation
	API         string
	Durable     bool
	Leaving     bool // it says that it leaves
}

// server returns the peer's Raft server.
func (p Peer) server() ServerID { return ServerOf(p.Incarnation, p.Durable) }

// Config has the values that do not change while a member leads.
type Config struct {
	Self   roster.Member // as the roster has it, or is to have it
	Grid   roster.GridID
	Expect int // members that the grid begins with
	// Release is that of this process; the zero value is one of protocol 1.
	Release roster.Release
	// Servers is how many Raft servers there should be, 0 for [ServersMost].
	Servers int
	// Anchored says that this member has the store of the grid's anchor. Ahead is how
	// far ahead of cluster time its record is kept, 0 for the default.
	Anchored bool
	Ahead    time.Duration
	// Silence is that of the leader before, if this member has stood for election because of it.
	Silence Silence
}

// Member carries out the decisions of a leader. No method may call the [Leader], and each
// call but the last has exactly one outcome, reported to the method that it names.
type Member interface {
	// Probe asks a member for its view; the outcome goes to [Leader.Probed].
	Probe(p Probe)
	// Propose has a command agreed on; the outcome goes to [Leader.Proposed].
	Propose(c roster.Command)
	// Reconfigure has a change of Raft's servers agreed on; the outcome goes to
	// [Leader.Reconfigured].
	Reconfigure(c Reconfiguration)
	// TransferLead passes the lead to a voter; the outcome goes to
	// [Leader.LeadTransferred].
	TransferLead(to ServerID)
	// Dismiss tells a member to leave the grid; the outcome goes to [Leader.Dismissed].
	Dismiss(d Dismissal)
	// Anchor reads or swaps the record of the grid's anchor; the outcome goes to
	// [Leader.Anchored].
	Anchor(s anchor.Step)
	// ReportClocks reports clocks that an operator has to look at.
	ReportClocks(v clustertime.Verdict)
}

// Leader is the grid's leader during one lead. It is not safe for concurrent use.
type Leader struct {
	cfg    Config
	self   roster.Incarnation
	server ServerID // this member's
	member Member

	ceiling   ceiling
	detector  detector
	voters    voters
	requests  requests
	protocols protocols
	inquiry   inquiries
	forgets   []*forget         // disks that operators give up, each until it is answered
	settings  []*settingsChange // that operators ask for, each until it is answered
	numbers   numbers
	removals  []*removal // members that operators take out, each until it is answered

	anchor  *anchor.Machine // nil without a store
	yielded bool            // no registered voter has taken the lead

	planner plan.Planner
	// changing says that a change is proposed. There is one at a time: a second one
	// would be computed from the same version, and refused.
	changing bool
	version  roster.Version // of the roster at the last plan
	since    time.Duration  // when this leader first planned at that version
	due      time.Duration  // when the next step is due, or any time after
	activity activity
}

// New returns the leader that a member becomes when it is elected.
func New(cfg Config, m Member) *Leader {
	l := &Leader{
		cfg: cfg, self: cfg.Self.Incarnation, server: ServerOf(cfg.Self.Incarnation, cfg.Self.Durable), member: m,
		detector: newDetector(), voters: newVoters(), requests: newRequests(), inquiry: newInquiries(),
		numbers: newNumbers(),
	}
	if cfg.Anchored {
		l.anchor = anchor.New(l.self, cfg.Ahead)
	}
	return l
}

// Step does everything that is due. It is called when [Leader.Due] or [Leader.Reported] say so,
// once the member has applied the whole log of the leaders before it and the grid is formed.
func (l *Leader) Step(v View) {
	if l.activity.began == 0 {
		l.activity.began = v.Mono
	}
	l.step(v)
	l.activity.observe(v, l.inProgress(v))
}

func (l *Leader) step(v View) {
	l.numbers.begin(v.Mono)
	if l.due <= v.Mono {
		l.due = math.MaxInt64
	}
	if !l.keepAnchor(v) {
		l.probeMembers(v)
		l.passLead(v)
		l.keepProtocol(v) // a request that waits too long is answered
		return
	}
	l.joinSelf(v)
	l.probeMembers(v)
	l.raise(v)
	l.addServers(v)
	l.keepRemovals(v)
	l.keepVoters(v)
	l.passLead(v)
	l.keepProtocol(v)
	l.plan(v)
}

// Resign answers what still waits for an answer: this member leads no longer, and the
// leader is not called again.
func (l *Leader) Resign() {
	l.inquiry.resign()
	l.protocols.resign()
	l.numbers.resign()
	l.resignSettings()
	for _, f := range l.forgets {
		f.reply(Forgotten{}, errNotLeading)
	}
	for _, r := range l.removals {
		r.reply(Removed{}, errNotLeading)
	}
}

// plan proposes the next change of the roster, if one is due.
func (l *Leader) plan(v View) {
	if l.changing {
		return
	}
	l.requests.forgetLeft(func(i roster.Incarnation) bool { return l.has(v, i) })
	c, due := l.planner.Plan(v.Roster, l.sight(v))
	if due {
		l.propose(c)
	}
}

func (l *Leader) propose(c roster.Command) {
	l.changing = true
	l.member.Propose(c)
}

// Proposed records the outcome of a command that this leader proposed.
func (l *Leader) Proposed(v View, c roster.Command, err error) {
	switch {
	case c.Raise != nil:
		l.ceiling.proposed(v.Mono, err)
		return
	case c.Identity != nil:
		l.numbers.identified(v, c.Identity, err)
		return
	}
	l.changing = false
	if err == nil { // the next change may be due
		l.due = v.Mono
	}
	if c.Reset != nil && err == nil { // a member again: it stays until another leads
		l.yielded = false
	}
	l.keepProtocol(v)
	l.continueForgets(v, c, err)
	l.continueSettings(v, c, err)
}

// sight returns what this leader believes of the members.
func (l *Leader) sight(v View) plan.Sight {
	r := v.Roster
	if l.version != r.Version {
		l.version, l.since = r.Version, v.Mono
	}
	s := plan.Sight{
		Join: l.admitted(v), Leave: l.parting(v), Held: l.requests.heldAt(r.Version), Persisted: l.requests.persistedAt(r.Version),
		Apart: l.Apart(v), Assign: l.complete(v), Granted: l.requests.earlier, Limit: l.limit(v.Roster),
	}
	if v.Roster.Claim != "" && s.Granted > s.Limit { // the record says so first
		s.Granted = 0
	}
	s.Patient = len(s.Held) < r.Joining() && v.Mono-l.since < patience
	l.describeMembers(&s)
	s.Keepers = l.keepers(v)
	l.detector.judge(v, l.self, &s)
	s.Gone = append(s.Gone, l.requests.failedMembers()...)
	return s
}

// complete reports whether partitions without owner may get one: as many members and
// voters have joined as the grid is to begin with, or, after a restart, every member has
// answered or is suspect.
func (l *Leader) complete(v View) bool {
	want := max(l.cfg.Expect, 1)
	voters := 0
	for _, s := range v.Servers {
		if s.Voter {
			voters++
		}
	}
	if v.Roster.Restarted { // some of its members may be gone
		return l.detector.settled(v, l.self)
	}
	return len(v.Roster.Members) >= want && voters >= VotersFor(want, v.Roster.Settings.MostVoters())
}

// has reports whether an incarnation is a member, or Raft has a server of it.
func (l *Leader) has(v View, inc roster.Incarnation) bool {
	_, member := v.Roster.Member(inc)
	return member || v.serves(ServerOf(inc, true)) || v.serves(ServerOf(inc, false))
}

// leaves reports whether a member has said that it leaves.
func (l *Leader) leaves(v View, inc roster.Incarnation) bool {
	return inc == l.self && v.Leaving || l.requests.leaves[inc]
}
