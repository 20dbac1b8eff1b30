package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/leader"
)

// Intervals and timeouts for leader probes, as in package grid.
const (
	lookEvery        = 100 * time.Millisecond // interval at which a voter checks for signs
	betweenLooks     = 50 * time.Millisecond
	lookTimeout      = 250 * time.Millisecond
	lateBy           = 500 * time.Millisecond
	silentAfter      = 500 * time.Millisecond
	deafAfter        = 3 * time.Second
	heartbeatTimeout = 1500 * time.Millisecond
)

// leaderMonitor probes the followed leader in addition to Raft, and starts elections, with the
// machines in package leader.
type leaderMonitor struct {
	m      *member
	watch  leader.Monitor
	busy   bool
	sign   bool // sign that the leader has ended or is silent
	doubt  bool // such a sign from another voter
	looked time.Duration
	// heard is the time of the leader's last message, by Raft or by a reply to a probe. It is
	// independent of watch, and used to check it.
	heard time.Duration
	byLog time.Duration // the last Raft message only
	// answered is the time of the last reply to a probe by the leader that this voter follows.
	answered time.Duration
}

func newLeaderMonitor(m *member) *leaderMonitor {
	k := &leaderMonitor{m: m}
	m.every(lookEvery, k.tick)
	return k
}

// tick starts a candidacy after a sign. An overdue raise counts as a sign.
func (k *leaderMonitor) tick() {
	m := k.m
	overdue := m.Mono()-max(k.looked, m.raised.at) >= leader.RaiseOverdue(m.roster.Settings.Window.Duration())
	if k.busy || !k.sign && !k.doubt && !overdue {
		return
	}
	doubted := !k.sign && !overdue
	k.sign, k.doubt, k.looked = false, false, m.Mono()
	k.look(doubted)
}

// looking is a candidacy in progress.
type looking struct {
	*leaderMonitor
	at      *member // the leader
	id      leader.ServerID
	c       *leader.Candidacy
	refused int  // number of refused probes
	silent  bool // most voters receive nothing from the leader, or no answer for long
}

// look starts a candidacy.
func (k *leaderMonitor) look(doubted bool) {
	m, at := k.m, k.m.leader
	if at == nil || at == m || m.lead != nil || m.leaving {
		return
	}
	record, member := m.roster.Member(at.inc)
	if !member {
		return
	}
	id := leader.ServerOf(at.inc, record.Durable)
	var servers []leader.Server
	for _, s := range m.g.agreed.servers {
		servers = append(servers, s.Server)
	}
	c, votes := leader.NewCandidacy(servers, serverOf(m, false).ID, id)
	if !votes || !m.g.agreed.votes(m.seat) {
		return
	}
	if doubted {
		c.Doubted()
	}
	k.busy = true
	m.g.counts.Candidacies++
	s := &looking{leaderMonitor: k, at: at, id: id, c: c}
	s.next(leader.Next{Call: true})
}

// next executes a candidacy's next step.
func (s *looking) next(n leader.Next) {
	m := s.m
	if n.Tell {
		for _, v := range s.voters() {
			if v != nil && v != m {
				m.w.net.send(&m.process, &v.process, func() { v.looks.doubt = true })
			}
		}
	}
	m.after(n.Pause, func() {
		switch {
		case n.Call:
			s.call()
		case n.Ask:
			s.ask()
		case n.Stand:
			m.g.check(s.checkStand())
			m.after(s.c.Turn(2*m.w.net.delay()), s.stand)
		default:
			s.over()
		}
	})
}

func (s *looking) over() { s.m.after(betweenLooks, func() { s.busy = false }) }

// voters returns the members behind the candidacy's voters, nil if a member does not run.
func (s *looking) voters() (out []*member) {
	for _, id := range s.c.Voters() {
		var at *member
		for _, server := range s.m.g.agreed.servers {
			if server.ID == id {
				at = server.seat.running
			}
		}
		out = append(out, at)
	}
	return out
}

// call probes the leader once. A reply after the timeout still counts for the monitor.
func (s *looking) call() {
	m, at, began, open := s.m, s.at, s.m.Mono(), true
	settle := func(k leader.ProbeResult) {
		if open {
			open = false
			if errors.Is(k.Err, leader.ErrAbsent) || k.Err == nil && !k.Leads {
				s.refused++
			}
			s.next(s.c.RecordProbe(k))
		}
	}
	call(&m.process, &at.process, lookTimeout+lateBy, func(reply func(bool)) {
		answer := func() { reply(at.lead != nil && !at.broken) }
		switch {
		case at.lateLooks <= m.w.now:
			answer()
		case m.w.chance(0.5):
			at.after(m.w.between(0, lookTimeout+lateBy), answer)
		}
	}, func(leads bool, err error) {
		if errors.Is(err, errRefused) {
			err = leader.ErrAbsent
		}
		k := leader.ProbeResult{Began: began, Ended: m.Mono(), Err: err, Leads: leads}
		s.watch.RecordProbe(s.id, k)
		if err == nil && leads && m.leader == at {
			s.heard, s.answered = k.Ended, k.Ended
		}
		settle(k)
	})
	m.after(lookTimeout, func() { settle(leader.ProbeResult{Began: began, Ended: m.Mono(), Err: errTimeout}) })
}

// unheard is a voter's reply: its contact with the leader according to its monitor, and the time since the
// leader's last message and last reply to a probe according to the simulation.
type unheard struct {
	watched         leader.Contact
	truly, answered time.Duration
}

// from returns the reply, and false for a voter that follows another leader.
func (k *leaderMonitor) from(at *member, id leader.ServerID) (unheard, bool) {
	now := k.m.Mono()
	if l := k.m.leader; l != nil && l != at {
		return unheard{}, false
	}
	watched := leader.Contact{Unheard: k.watch.SilentFor(id, now, now-k.byLog), Unanswered: k.watch.UnansweredFor(id, now)}
	return unheard{watched, now - k.heard, now - k.answered}, true
}

// ask requests each voter's time since the leader's last message.
func (s *looking) ask() {
	m := s.m
	var answers []unheard
	voters := s.voters()
	waiting := len(voters)
	for _, v := range voters {
		switch v {
		case nil:
			waiting--
			continue
		case m:
			if a, counts := s.from(s.at, s.id); counts {
				answers = append(answers, a)
			}
			waiting--
			continue
		}
		type answer struct {
			unheard
			counts bool
		}
		call(&m.process, &v.process, lookTimeout, func(reply func(answer)) {
			a, counts := v.looks.from(s.at, s.id)
			reply(answer{a, counts})
		}, func(a answer, err error) {
			if err == nil && a.counts {
				answers = append(answers, a.unheard)
			}
			if waiting--; waiting == 0 {
				s.asked(answers)
			}
		})
	}
	if waiting == 0 {
		s.asked(answers)
	}
}

func (s *looking) asked(answers []unheard) {
	var watched []leader.Contact
	truly := 0
	for _, a := range answers {
		watched = append(watched, a.watched)
		if a.truly >= silentAfter || a.answered >= deafAfter {
			truly++
		}
	}
	n := s.c.Asked(watched)
	if since := s.c.Silence(s.at.inc).Since; n.Stand {
		s.silent = 2*truly > len(s.c.Voters())+1
		s.watch.RecordSilence(s.c.Silence(s.at.inc))
	} else if !s.watch.AnsweredSince(s.id, since) {
		s.sign = true
	}
	s.next(n)
}

// checkStand requires that a voter starts an election only if the leader has refused it twice, or
// most voters receive nothing from the leader: a leader that a single voter does not reach
// continues (R7).
func (s *looking) checkStand() error {
	if s.refused >= 2 || s.silent {
		return nil
	}
	return fmt.Errorf("R7: voter %s stands against leader %s, which refused %d calls, and most voters hear from it",
		s.m.name, s.at.name, s.refused)
}

// stand starts an election, unless a leader's message has arrived in between.
func (s *looking) stand() {
	m := s.m
	if now := m.Mono(); m.leader == s.at && m.lead == nil && s.c.Stands(now, now-s.byLog, true) {
		m.g.agreed.stand(m)
	}
	s.over()
}

// stand elects the candidate if a majority responds.
func (a *agreement) stand(m *member) {
	w := a.g.w
	a.g.counts.Stood++
	w.note(stood, m.name, int64(m.term), int64(len(a.servers)))
	w.after(w.between(5*time.Millisecond, 50*time.Millisecond), func() {
		if a.leader != m && a.votes(m.seat) && a.electable(m) {
			a.elected(m)
		}
	})
}

// silenceBefore returns the previous leader's silence, with which the member's lead begins.
func (k *leaderMonitor) silenceBefore() leader.Silence {
	m := k.m
	if m.leader == nil || m.leader == m {
		return leader.Silence{}
	}
	return k.watch.TakeSilence(m.leader.inc, m.Mono()-k.byLog, heartbeatTimeout)
}

// brokenStreams sends the members that follow a process the sign that it has ended.
func (g *grid) brokenStreams(ended *member) {
	for _, m := range g.running() {
		if m.leader == ended && g.w.net.both(m.place, ended.place) {
			m.after(g.w.between(0, 300*time.Millisecond), func() { m.looks.sign = true })
		}
	}
}

// falseSigns gives one voter, or several, a false sign about the leader.
func (nm *nemesis) falseSigns(m *member) bool {
	for _, other := range nm.g.running() {
		if other == m || nm.g.w.chance(0.3) {
			other.looks.sign = true
		}
	}
	return true
}

// lateLook makes a leader reply late, or not at all, to probes for a while, and gives a voter a
// sign.
func (nm *nemesis) lateLook() bool {
	l := nm.g.agreed.leader
	if l == nil || !l.alive || l.lead == nil {
		return false
	}
	l.lateLooks = nm.g.w.now + nm.span()
	if all := slices.DeleteFunc(nm.g.running(), func(m *member) bool { return m == l }); len(all) > 0 {
		pick(nm.g.w, all).looks.sign = true
	}
	return true
}
