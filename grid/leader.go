package grid

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/clustertime"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/roster/plan"
	"github.com/snowgrid/snowgrid/wire"
)

// leader does what only the grid's leader may: it raises the ceiling, lets
// members in, takes the dead and the leaving out, and keeps the number of voters.
// It decides nothing that uniqueness rests on: every step is a command computed
// from one version of the roster and refused if that is no longer the version.
type leader struct {
	m      *Member
	node   *raftlog.Node // nil while this member does not lead
	keeper clustertime.Timekeeper
	next   time.Duration // when to raise next
	// proposed is the cluster time of this leader's last raise, and since when that was so.
	proposed state.Raise
	// aheadTold is when the log told last that cluster time is ahead of the clocks.
	aheadTold time.Duration
	// departures are the voters that leave, since when they do.
	departures departures
	witness    *witness
	planner    plan.Planner
	version    roster.Version // of the roster that was planned on last
	since      time.Duration  // ... and since when
}

const (
	leadEvery = 100 * time.Millisecond
	// patience is how long a version of the roster is left alone so that joining
	// replicas can be admitted at it.
	patience = time.Second
)

// joining is a member that asks to be part of the grid.
type joining struct {
	member roster.Member
	server raft.ServerID
	at     time.Duration
	// instead is the registered incarnation of the same member that did not answer.
	instead roster.Incarnation
}

// joinLives is how long a request to join is remembered without being repeated.
const joinLives = 3 * time.Second

// lead runs until ctx ends; it does nothing while another member leads.
func (m *Member) lead(ctx context.Context) {
	l := &leader{m: m, departures: departures{}}
	ticker := time.NewTicker(leadEvery)
	defer ticker.Stop()
	for {
		if m.raft.Node().Leads() {
			l.step(ctx)
		} else {
			l.resign()
		}
		select {
		case <-ctx.Done():
			l.resign()
			return
		case <-ticker.C:
		case <-m.leadNow:
		}
	}
}

// resign forgets everything that held only under this member's lead.
func (l *leader) resign() {
	if l.witness != nil {
		l.witness.end()
	}
	*l = leader{m: l.m, departures: departures{}}
}

// step does what is due.
func (l *leader) step(ctx context.Context) {
	if l.node == nil {
		node := l.m.raft.Node()
		if node.Raft.Barrier(transport.RaftCallTimeout).Error() != nil {
			return
		}
		l.node, l.witness = node, newWitness(l.m)
		l.m.log.Info("this member leads the grid")
	}
	if !l.m.state.Roster().Formed() {
		l.begin(ctx)
		return
	}
	if err := l.m.formed(); err != nil {
		l.report("note that the grid is formed", err)
		return
	}
	l.m.joinSelf()
	l.raise(ctx)
	l.servers()
	l.plan()
}

// begin writes the roster's first entry, once the acceptances are confirmed.
func (l *leader) begin(ctx context.Context) {
	form, err := l.m.confirm(ctx)
	if err != nil {
		if l.m.boot.hinder(err.Error(), l.m.clock.Mono()) {
			l.report("form the grid", err)
		}
		return
	}
	l.report("form the grid", l.m.raft.Propose(roster.Command{Form: form}))
}

// raise moves cluster time and the ceiling on, ten times a window and at once
// after an election.
func (l *leader) raise(ctx context.Context) {
	r, now := l.m.state.Roster(), l.m.clock.Mono()
	if !r.Assigned() || r.Stopped > 0 || now < l.next { // a restart's losses come first (S1)
		return
	}
	clocks, voters, known := l.clocks(ctx)
	last, at := l.lastRaise(), l.m.clock.Mono()
	prev, elapsed := last.Time, at-last.At
	t, keeper, verdict := l.keeper.Next(prev, elapsed, clocks, voters)
	l.keeper = keeper
	if verdict.Held {
		l.m.log.Warn("the voters' clocks jumped ahead; not followed until they agree for a minute",
			"ahead", verdict.Jump.Duration(), "agreed", verdict.Agreed)
	}
	l.warnAhead(verdict.Behind, now)
	l.next = now + r.Settings.Window.Duration()/10
	if prev == 0 { // this member has just started; time may have gone on elsewhere
		t = max(t, r.Time, known)
	}
	if t == 0 {
		l.next = now + leadEvery
		return
	}
	l.proposed = state.Raise{Time: t, At: at}
	if err := l.m.raft.Propose(roster.Command{From: r.Version, Raise: &roster.Raise{Time: t}}); err != nil {
		l.next = now
		l.report("raise the ceiling", err)
	}
}

// lastRaise returns the last raise that was agreed on, the zero value if there was none.
// One of this leader's own counts from when its time was taken: the rounds until it was
// applied would be missing from cluster time each time.
func (l *leader) lastRaise() state.Raise {
	last := l.m.state.LastRaise()
	switch {
	case last == nil:
		return state.Raise{At: l.m.clock.Mono()}
	case last.Time == l.proposed.Time:
		return l.proposed
	}
	return *last
}

// warnAhead tells, once a minute, how far cluster time is ahead of the voters' clocks
// if that is more than the next life of a grid without disks would allow for.
func (l *leader) warnAhead(ahead clustertime.Span, now time.Duration) {
	if ahead <= clustertime.ClockMargin || l.aheadTold != 0 && now-l.aheadTold < time.Minute {
		return
	}
	l.aheadTold = now
	l.m.log.Warn("cluster time ahead of the clocks", "ahead", ahead.Duration(),
		"advice", "the clocks were ahead before; if all members without data directories stop now, start the next grid by `snowgrid init --floor`, or IDs repeat")
}

// clocksTime is how long voters are asked for their clocks, clocksGrace how long
// the last ones are waited for once a majority has answered.
const (
	clocksTime  = time.Second
	clocksGrace = 100 * time.Millisecond
)

// clocks asks the voters for their wall clocks, and for the cluster time that any
// of them knows.
func (l *leader) clocks(ctx context.Context) (clocks []clustertime.Tick, voters int, known clustertime.Tick) {
	ctx, cancel := context.WithTimeout(ctx, clocksTime)
	defer cancel()
	answers := make(chan wire.HelloResponse, len(l.configured()))
	asked := 0
	for _, s := range l.configured() {
		if s.Suffrage != raft.Voter {
			continue
		}
		voters++
		if s.ID == l.node.Server {
			clocks = append(clocks, clustertime.TickOf(l.m.cfg.Clock.Now()))
			continue
		}
		if member, found := l.memberOf(s.ID); found && asked < cap(answers) {
			asked++
			go func() {
				hello, _ := l.m.hello(ctx, member.API, member.Incarnation) // zero with an error
				answers <- hello
			}()
		}
	}
	enough := time.After(clocksTime)
	for ; asked > 0; asked-- {
		select {
		case hello := <-answers:
			if hello.Wall != 0 {
				clocks = append(clocks, hello.Wall)
				known = max(known, hello.Time)
			}
		case <-enough:
			return clocks, voters, known
		}
		if 2*len(clocks) > voters {
			enough = time.After(clocksGrace)
		}
	}
	return clocks, voters, known
}

// plan proposes the next change of the roster, if one is due.
func (l *leader) plan() {
	r := l.m.state.Roster()
	l.m.forgetLeft(l.has)
	sight := l.sight(r)
	c, due := l.planner.Plan(r, sight)
	if !due {
		return
	}
	err := l.m.raft.Propose(c)
	l.report("change the roster", err)
	if err == nil {
		l.tell(r, c.Change)
	}
}

// sight returns what this leader believes.
func (l *leader) sight(r *roster.Roster) plan.Sight {
	now := l.m.clock.Mono()
	if l.version != r.Version {
		l.version, l.since = r.Version, now
	}
	held, persisted := l.m.admissions.Load().ready(r.Version)
	s := plan.Sight{
		Join: l.admitted(), Leave: l.m.leavers(), Held: held, Persisted: persisted, Assign: l.enough(r), Granted: clustertime.Tick(l.m.earlier.Load()),
	}
	s.Patient = len(s.Held) < r.Joining() && now-l.since < patience
	l.witness.look(r, &s)
	s.Gone = append(s.Gone, l.m.failedMembers()...)
	return s
}

// tell logs what a change of a roster means, in words.
func (l *leader) tell(r *roster.Roster, c *roster.Change) {
	log := l.m.log
	for _, member := range c.Join {
		log.Info("member joined", "joined", string(member.Incarnation), "api", member.API)
	}
	for _, inc := range c.Remove {
		log.Info("member taken out", "gone", string(inc))
	}
	for _, inc := range c.Doubt {
		log.Warn("member does not answer; its backups take over", "silent", string(inc))
	}
	for _, inc := range c.Settle {
		log.Info("member has all its replicas in sync", "settled", string(inc))
	}
	if len(c.Take) > 0 {
		log.Info("backups own partitions now; nobody waits", "partitions", len(c.Take))
	}
	switch {
	case len(c.Lose) == 0:
	case !r.Assigned():
		log.Info("the grid serves", "partitions", len(c.Lose))
	default:
		log.Warn("no copy was left of some partitions: they begin with empty tables; their holders wait once until cluster time reaches the floor, some seconds",
			"partitions", len(c.Lose))
	}
}

// enough reports whether partitions without owner may get one: when as many
// members and voters have joined as the grid is to begin with.
func (l *leader) enough(r *roster.Roster) bool {
	want := max(l.m.cfg.Expect, 1)
	voters := 0
	for _, s := range l.configured() {
		if s.Suffrage == raft.Voter {
			voters++
		}
	}
	return len(r.Members) >= want && voters >= votersFor(want)
}

// report logs what kept a step from being done; it is done again.
func (l *leader) report(step string, err error) {
	if err != nil && !errors.Is(err, roster.ErrStale) {
		l.m.log.Warn("a step of the leader failed; trying again", "step", step, "error", err)
	}
}

// has reports whether an incarnation is a member, or Raft has a server of its.
func (l *leader) has(inc roster.Incarnation) bool {
	if _, member := l.m.state.Roster().Member(inc); member {
		return true
	}
	return l.node.Has(raftlog.ServerID(inc, true)) || l.node.Has(raftlog.ServerID(inc, false))
}

// memberOf returns the roster's member behind a Raft server.
func (l *leader) memberOf(id raft.ServerID) (roster.Member, bool) {
	return raftlog.MemberOf(l.m.state.Roster(), id)
}

// joinSelf asks for this member itself, which leads, to be in the roster.
func (m *Member) joinSelf() {
	if _, in := m.state.Roster().Member(m.self); in {
		return
	}
	before, _ := registered(m.state.Roster(), m.self.Member()) // of this process's server, which leads
	m.mu.Lock()
	defer m.mu.Unlock()
	m.joins[m.self] = joining{
		member: m.record(), server: raftlog.ServerID(m.self, m.cfg.DataDir != ""), at: m.clock.Mono(), instead: before.Incarnation,
	}
}

// record is what the roster keeps of this member.
func (m *Member) record() roster.Member {
	return roster.Member{
		Incarnation: m.self, API: m.addrs.API, Raft: m.addrs.Raft, Gossip: m.addrs.Gossip, Durable: m.cfg.DataDir != "",
	}
}
