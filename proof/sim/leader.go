package sim

import (
	"errors"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// lead is a member's lead: it drives the leader's machine, like package grid, but without
// goroutines. It may be an outdated lead that has not received its successor's messages.
type lead struct {
	m       *member
	term    int
	machine *leader.Leader
	servers []server      // Raft's servers, as this leader sees them
	alone   time.Duration // when it steps down without a majority; 0 with one
	views   views
	began   time.Duration   // monotonic
	stepped leader.View     // the last step's view
	told    []roster.Member // members of the roster that was announced last
	pushed  int             // the index that was announced last
}

// beatEvery is the interval at which a leader announces its log index.
const beatEvery = 300 * time.Millisecond

func newLead(m *member, term int) *lead {
	l := &lead{m: m, term: term, began: m.Mono(), servers: m.g.agreed.serversFor(m), views: newViews()}
	expect := m.g.expect
	if m.g.cfg.Baseline == Quorum {
		expect = 1 // members are counted elsewhere
	}
	silence := m.looks.silenceBefore()
	if before := m.g.members[silence.Member]; before != nil && silence.Calls > 0 {
		l.views.failed[before] = m.w.now // it did not reply to the candidacy's probes
	}
	l.machine = leader.New(leader.Config{Self: m.record(), Grid: m.g.id(), Expect: expect, Release: m.release(),
		Anchored: m.g.anchor != nil, Ahead: anchorAhead, Servers: m.g.cfg.Servers,
		Silence: silence}, l)
	m.lead, m.leader, m.term, m.heard = l, m, term, m.w.now
	l.every(leader.StepEvery, l.step)
	l.every(beatEvery, l.announce)
	return l
}

// every calls a function periodically while the lead lasts.
func (l *lead) every(d time.Duration, do func()) {
	l.m.after(d, func() {
		if l.m.lead == l {
			do()
			l.every(d, do)
		}
	})
}

// resign ends a member's lead.
func (m *member) resign() {
	if l := m.lead; l != nil {
		m.lead = nil
		l.machine.Resign()
	}
}

// do calls the machine, unless the lead has ended.
func (l *lead) do(f func(machine *leader.Leader, v leader.View)) {
	if l.m.lead == l {
		f(l.machine, l.view())
	}
}

// step runs the machine if it is due, or if the view has changed. A leader that reaches no majority
// of its servers steps down after a while.
func (l *lead) step() {
	m, a := l.m, l.m.g.agreed
	m.heard = m.w.now
	servers := l.servers
	if a.leader == m {
		servers = a.servers
	}
	if m.g.cfg.Baseline == Real && !a.majority(m, servers) {
		if l.alone == 0 {
			l.alone = m.w.now + m.w.between(0, 8*time.Second)
		} else if m.w.now > l.alone && a.leader != m {
			m.resign()
			return
		}
	} else {
		l.alone = 0
	}
	if a.leader == m && l.alone == 0 {
		m.learn(len(a.log) - 1) // including its own commands without a reported result
	}
	l.do(func(machine *leader.Leader, v leader.View) {
		news := v.Roster != l.stepped.Roster || !slices.Equal(v.Peers, l.stepped.Peers) ||
			!slices.Equal(v.Servers, l.stepped.Servers)
		if machine.Due(v) <= 0 || news {
			l.stepped = v
			machine.Step(v)
		}
	})
}

// announce sends the log index to the servers, the learners, and members that have just left the
// roster.
func (l *lead) announce() {
	var to []*member
	add := func(m *member) {
		if m != nil && m != l.m && m.alive && !slices.Contains(to, m) {
			to = append(to, m)
		}
	}
	for _, s := range l.servers {
		add(s.seat.running)
	}
	if l.m.g.cfg.Baseline == Real {
		for _, r := range slices.Concat(l.m.roster.Members, l.told) {
			add(l.m.g.members[r.Incarnation])
		}
		l.told = l.m.roster.Members
	}
	news := l.m.index > l.pushed
	l.pushed = l.m.index
	for _, r := range to {
		from, term, index, known := l.m, l.term, l.m.index, l.m.roster
		switch {
		case l.m.g.cfg.Baseline == Quorum:
			l.m.w.net.send(&l.m.process, &r.process, func() { r.follow(known) })
		case news:
			l.push(r)
		default:
			l.m.w.net.send(&l.m.process, &r.process, func() { r.heardLeader(from, term, index) })
		}
	}
}

// pushTimeout bounds the reply to a push.
const pushTimeout = time.Second

// push announces a change to a member, which replies with its view.
func (l *lead) push(to *member) {
	from, term, index, began := l.m, l.term, l.m.index, l.m.Mono()
	sent := l.m.w.now
	call(&from.process, &to.process, pushTimeout,
		func(reply func(leader.Answer)) {
			to.heardLeader(from, term, index)
			reply(to.answer())
		},
		func(a leader.Answer, err error) {
			if alarm := from.g.alarms[to.inc]; err != nil || alarm == alarmGone || alarm == alarmSilent {
				return
			}
			l.answeredPush(to, a.Version, sent)
			l.do(func(machine *leader.Leader, v leader.View) { machine.PushAnswered(v, to.inc, began, a) })
		})
}

// view returns the leader's current view.
func (l *lead) view() leader.View {
	m := l.m
	if a := m.g.agreed; a.leader == m || m.g.cfg.Baseline == Quorum {
		l.servers = a.serversFor(m)
	}
	v := leader.View{Roster: m.roster, Mono: m.Mono(), Wall: m.Wall(), Leaving: m.leaving, Peers: m.g.peers(m)}
	if m.raised.time > 0 {
		v.Raised = leader.Raise{Time: m.raised.time, At: m.raised.at}
	}
	if m.g.anchor != nil {
		v.Draw = m.w.draw()
	}
	for _, s := range l.servers {
		v.Servers = append(v.Servers, s.Server)
	}
	return v
}

// answer returns a member's description of itself.
func (m *member) answer() leader.Answer {
	a := leader.Answer{
		Record: m.record(), Grid: m.of(), Version: m.roster.Version, Wall: m.Wall(), Time: m.Now(), Leaving: m.leaving,
		DiskFailed: m.broken, Release: m.release(),
	}
	if _, registered := m.roster.Member(m.inc); registered {
		a.Claim = m.roster.Claim
	}
	return a
}

// Probe implements leader.Member.
func (l *lead) Probe(p leader.Probe) {
	m := l.m
	to := m.g.members[p.To]
	done := func(a leader.Answer, err error) {
		l.probed(to, a.Version, err)
		if errors.Is(err, leader.ErrAbsent) {
			l.views.absent[to] = true
		}
		l.do(func(machine *leader.Leader, v leader.View) { machine.Probed(v, p, a, err) })
	}
	switch m.g.alarms[p.To] {
	case alarmGone:
		m.after(min(m.w.net.delay(), p.Timeout), func() { done(leader.Answer{}, leader.ErrAbsent) })
		return
	case alarmSilent:
		m.after(p.Timeout, func() { done(leader.Answer{}, errTimeout) })
		return
	}
	call(&m.process, &to.process, p.Timeout,
		func(reply func(leader.Answer)) { reply(to.answer()) },
		func(a leader.Answer, err error) {
			if errors.Is(err, errRefused) {
				err = leader.ErrAbsent
			}
			done(a, err)
		})
}

// Propose implements leader.Member.
func (l *lead) Propose(c roster.Command) {
	m := l.m
	switch {
	case c.Raise != nil:
		m.g.check(m.g.checkTime(m.raised.time, c.Raise.Time))
	case c.Change != nil:
		m.g.check(l.checkRemoved(c.Change))
	}
	m.g.agreed.propose(m, c, func(err error) {
		l.do(func(machine *leader.Leader, v leader.View) { machine.Proposed(v, c, err) })
	})
}

// Reconfigure implements leader.Member.
func (l *lead) Reconfigure(c leader.Reconfiguration) {
	l.m.g.agreed.reconfigure(l, c, func() {
		l.do(func(machine *leader.Leader, v leader.View) { machine.Reconfigured(v, c) })
	})
}

// TransferLead implements leader.Member.
func (l *lead) TransferLead(to leader.ServerID) {
	l.m.g.agreed.transfer(l, to, func() {
		l.do(func(machine *leader.Leader, _ leader.View) { machine.LeadTransferred() })
	})
}

// Dismiss implements leader.Member.
func (l *lead) Dismiss(d leader.Dismissal) {
	m := l.m
	to := m.g.members[d.To]
	callPeer(m, to, time.Second,
		func(reply func(struct{})) {
			if to.leaving || m.g.nemesis.leave(to) {
				reply(struct{}{})
			}
		},
		func(_ struct{}, err error) {
			l.do(func(machine *leader.Leader, v leader.View) { machine.Dismissed(v, d, err) })
		})
}

// InUse implements leader.Member.
func (l *lead) InUse(error) {}

// ReportClocks implements leader.Member.
func (l *lead) ReportClocks(clustertime.Verdict) {}

// report sends an owner's report to the leader, with the members that the owner does not reach. A
// report that makes a step due causes one immediately.
func (m *member) report(to *member, in leader.Report) {
	in.Unreached = m.reach.Apart()
	sendPeer(m, to, func() {
		if l := to.lead; l != nil {
			l.do(func(machine *leader.Leader, v leader.View) {
				if due, err := machine.Reported(v, in); due && err == nil {
					to.after(0, func() { l.do(func(machine *leader.Leader, v leader.View) { machine.Step(v) }) })
				}
			})
		}
	})
}

// reportHeld repeats a report to the leader until it is obsolete.
func (m *member) reportHeld(o *actor, h roster.Holding) {
	if now, ready := o.machine.Admission(); !ready || now != h || m.leader == nil {
		return
	}
	m.report(m.leader, leader.Report{Owner: m.inc, Held: []roster.Holding{h}})
	m.after(time.Second, func() { m.reportHeld(o, h) })
}
