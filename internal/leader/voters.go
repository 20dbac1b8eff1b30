package leader

import (
	"cmp"
	"slices"

	"github.com/snowgrid/snowgrid/internal/roster"
)

const (
	// candidates is the number of servers that a promotion probes.
	candidates = 3
	// surveyLimit bounds a survey's age. Probes end earlier unless this process stalls, and
	// answers from before a stall are too old.
	surveyLimit = 2 * probeTimeout
)

// membership is the part of [admission] that [voters] depends on.
type membership interface {
	isLeaving(v View, inc roster.Incarnation) bool
	left(v View, id ServerID) bool
	expects(v View, id ServerID) bool
	staying(v View) map[ServerID]bool
}

// voters maintains the number of voters, one change at a time. Before a change it probes every
// server that the change depends on: a vote given to a dead member, or taken from the only member
// that answers, costs the majority.
//
//	       a change may be due             every outcome is known            decided
//	idle ----------------------> surveying ----------------------> deciding --------> reconfiguring
//	  ^                                                               |                     |
//	  +---------------------------------------------------------------+---------------------+
//	                                          nothing is due, or it is done
type voters struct {
	self    roster.Incarnation
	server  ServerID // this leader's
	most    int      // servers at most, 0 for [ServersMost]
	members membership
	live    *detector
	out     Member

	departures    departures
	silent        []ServerID // without a member, seen by gossip, and without an answer in the last survey
	survey        *poll      // of the servers that a change depends on; nil unless they are being probed
	rounds        uint64
	reconfiguring bool // a vote is being given or taken, or a server removed

	// givenUp are servers whose votes an operator gives up.
	givenUp map[ServerID]bool
}

// electorate sorts Raft's servers. It returns false while the voters must not change: when every
// member leaves, and while this leader is not in the roster. The roster then lists earlier
// starts, which do not answer.
func (m *voters) electorate(v View) (e electorate, found bool) {
	stays := m.members.staying(v)
	if _, in := v.Roster.Member(m.self); !in && !v.Leaving || len(stays) == 0 {
		return e, false
	}
	keeps, majority := m.departing(v, stays)
	x := servers{self: m.server, stays: stays, keepsVote: keeps, members: m.members, surrenders: m.givenUp}
	all := make([]classified, len(v.Servers))
	for i, s := range v.Servers {
		all[i] = x.classify(v, s)
	}
	if overdue := e.count(m.server, all); overdue && !majority { // else it would wait indefinitely for absent voters
		e.absent = 0
	}
	e.want = VotersFor(len(stays)+e.absent, v.Roster.Settings.MostVoters())
	e.countZones(v, stays)
	// In the order in which votes are given and taken.
	slices.SortStableFunc(e.idle, func(a, b Server) int { return cmp.Or(rank(a)-rank(b), e.crowd(a)-e.crowd(b)) })
	slices.SortStableFunc(e.surplus, func(a, b Server) int { return cmp.Or(rank(b)-rank(a), e.crowd(b)-e.crowd(a)) })
	return e, true
}

// step starts a survey if a change may be due.
func (m *voters) step(v View) {
	if m.reconfiguring || m.survey != nil {
		return
	}
	e, found := m.electorate(v)
	if !found {
		return
	}
	if !e.promotes() && len(e.obsolete()) == 0 && !e.demotes() && !slices.ContainsFunc(e.idle, e.spreads) {
		// A standby server too many is removed: its member becomes a learner. It has no vote, so no agreement depends
		// on it.
		if goes, found := spareServer(e); found && e.voting+len(e.idle) > m.serversMost(v) {
			m.reconfiguring = true
			m.out.Reconfigure(Reconfiguration{Do: Remove, Server: goes.ID})
			return
		}
		if len(e.arrivals)+len(m.silent) == 0 {
			return
		}
	}
	m.rounds++
	if m.survey = newPoll(v, m.out, forVoters, m.rounds, m.surveyOf(v, e)); m.survey.waiting == 0 {
		m.decide(v)
	}
}

// surveyOf returns the processes that a change of the electorate depends on: each server's
// member, unless its probes fail, and the incarnation that gossip sees, which may be another
// start of it.
func (m *voters) surveyOf(v View, e electorate) (out []Peer) {
	add := func(inc roster.Incarnation, api string) {
		known := slices.ContainsFunc(out, func(p Peer) bool { return p.Incarnation == inc })
		if inc != m.self && !known {
			out = append(out, Peer{Incarnation: inc, API: api})
		}
	}
	answering := slices.DeleteFunc(slices.Clone(e.idle), func(s Server) bool {
		of, member := v.memberOf(s.ID)
		return !member || m.live.failing(of.Incarnation)
	})
	for _, s := range slices.Concat(e.voters, e.arrivals, e.gone, answering[:min(len(answering), candidates)]) {
		if of, member := v.memberOf(s.ID); member && !m.live.failing(of.Incarnation) {
			add(of.Incarnation, of.API)
		}
		if p, seen := v.peerOf(s.ID); seen {
			add(p.Incarnation, p.API)
		}
	}
	return out
}

func (m *voters) surveyed(v View, p Probe, err error) {
	if asked := m.survey; asked != nil && asked.round == p.round && asked.note(p, err) {
		m.decide(v)
	}
}

// decide makes one step towards the right voters, based on a complete survey: it adds a voter
// before it removes one, and removes dead voters before surplus ones. A dead voter with a disk may
// come back with all that it agreed to, so it stays until another takes its place.
func (m *voters) decide(v View) {
	asked := m.survey
	m.survey = nil
	if v.Mono-asked.began > surveyLimit {
		return
	}
	m.noteSilent(v, asked)
	e, found := m.electorate(v)
	for _, p := range m.surveyOf(v, e) {
		if _, probed := asked.answered[p.Incarnation]; !probed {
			return // the voters have changed; the next step surveys these
		}
	}
	if c, due := m.next(v, e, asked); found && due {
		m.reconfiguring = true
		m.out.Reconfigure(c)
	}
}

// noteSilent records which servers without a member did not answer a survey. Gossip may see a process for minutes after
// its end, and its vote would count towards the majority for as long.
func (m *voters) noteSilent(v View, asked *poll) {
	m.silent = m.silent[:0]
	for _, s := range v.Servers {
		_, member := v.memberOf(s.ID)
		p, _ := v.peerOf(s.ID)
		if answered, probed := asked.answered[p.Incarnation]; probed && !answered && !member {
			m.silent = append(m.silent, s.ID)
		}
	}
}

// isSilent reports whether a server has no member, and did not answer the last survey.
func (m *voters) isSilent(id ServerID) bool { return slices.Contains(m.silent, id) }

func (m *voters) next(v View, e electorate, asked *poll) (Reconfiguration, bool) {
	// A vote given to a dead member, which died together with a voter before any probe failed, would count against
	// the majority and cost it.
	answers := func(s Server) bool {
		of, member := v.memberOf(s.ID)
		return s.ID == m.server || member && !m.live.failing(of.Incarnation) && asked.answered[of.Incarnation]
	}
	reached := func(s Server) bool { // by gossip, and it answered, member or not
		p, seen := v.peerOf(s.ID)
		return answers(s) || seen && asked.answered[p.Incarnation]
	}
	if e.promotes() {
		if i := slices.IndexFunc(e.idle, answers); i >= 0 {
			return Reconfiguration{Do: Promote, Server: e.idle[i].ID}, true
		}
	}
	if s, found := e.removable(reached); found {
		return Reconfiguration{Do: Remove, Server: s.ID}, true
	}
	if s, found := e.dispensable(answers); found || e.demotes() {
		return Reconfiguration{Do: Demote, Server: s.ID}, found
	}
	i := slices.IndexFunc(e.idle, func(s Server) bool { return e.spreads(s) && answers(s) })
	if i < 0 {
		return Reconfiguration{}, false
	}
	return Reconfiguration{Do: Promote, Server: e.idle[i].ID}, true
}

// busy reports whether a change is in progress.
func (m *voters) busy() bool { return m.survey != nil || m.reconfiguring || len(m.givenUp) > 0 }
