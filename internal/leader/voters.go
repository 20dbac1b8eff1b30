package leader

import (
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

const (
	// candidates is how many servers without a vote are probed when one is to be promoted.
	candidates = 3
	// surveyLimit is how old a survey may be. Probes end earlier, unless this process
	// stalls; answers of before a stall say nothing of the members now.
	surveyLimit = 2 * probeTimeout
)

// voters is the keeping of the number of voters, one change at a time. A change is
// decided on when every server that it depends on was probed for it: a vote given to a
// dead member, or taken of the only one that answers, costs the majority.
//
//	       a change may be due             every outcome is known            decided
//	idle ----------------------> surveying ----------------------> deciding --------> reconfiguring
//	  ^                                                               |                     |
//	  +---------------------------------------------------------------+---------------------+
//	                                          nothing is due, or it is done
type voters struct {
	departures    departures
	survey        *survey // nil unless servers are being probed
	rounds        uint64  // of surveys and successions
	reconfiguring bool    // a vote is being given or taken, or a server removed

	// givenUp are servers of members that are gone and whose votes an operator gives up.
	givenUp map[ServerID]bool

	adding bool              // a server is being added
	tried  map[ServerID]bool // servers added since the last step, or not

	succession *succession // nil unless this leader passes the lead on
}

func newVoters() voters {
	return voters{departures: departures{}, givenUp: map[ServerID]bool{}, tried: map[ServerID]bool{}}
}

// electorate sorts Raft's servers by their members.
type electorate struct {
	voters  []Server
	voting  int      // voters that stay
	want    int      // how many should
	absent  int      // voters with a disk that are dead, or leave and keep their vote
	idle    []Server // that stay and have no vote, durable ones first
	surplus []Server // that stay and may lose their vote, durable ones last
	leavers []Server // voters of members that leave
	gone    []Server // of no member, and of none that is expected
	down    []Server // the same: voters with a disk, which may come back
	passing bool     // this leader leaves and has a vote

	zone  map[ServerID]string // of the servers that stay
	votes map[string]int      // in each zone, of voters that stay
}

// survey is one round of probes of the servers that a change depends on.
type survey struct {
	round    uint64
	began    time.Duration
	waiting  int                         // probes without an outcome
	answered map[roster.Incarnation]bool // false: no answer yet, or none at all
}

// keepVoters begins a survey if a change of the voters may be due.
func (l *Leader) keepVoters(v View) {
	s := &l.voters
	if s.reconfiguring || s.survey != nil {
		return
	}
	e, found := l.electorate(v)
	if !found {
		return
	}
	if !e.promotes() && !e.removes() && !e.demotes() && !e.respreads() {
		l.prune(v, e)
		return
	}
	s.rounds++
	asked := &survey{round: s.rounds, began: v.Mono, answered: map[roster.Incarnation]bool{}}
	s.survey = asked
	for _, p := range l.surveyOf(v, e) {
		asked.answered[p.Incarnation] = false
		asked.waiting++
		l.probe(v, p.Incarnation, p.API, forVoters, asked.round)
	}
	if asked.waiting == 0 {
		l.decideVoters(v)
	}
}

// surveyOf returns the processes that a change of the electorate depends on: of each
// server the member, unless probes of it fail, and the one that gossip sees, which may
// be another start of it.
func (l *Leader) surveyOf(v View, e electorate) (out []Peer) {
	add := func(inc roster.Incarnation, api string) {
		known := slices.ContainsFunc(out, func(p Peer) bool { return p.Incarnation == inc })
		if inc != l.self && !known {
			out = append(out, Peer{Incarnation: inc, API: api})
		}
	}
	answering := slices.DeleteFunc(slices.Clone(e.idle), func(s Server) bool {
		m, member := v.memberOf(s.ID)
		return !member || l.detector.failing(m.Incarnation)
	})
	for _, s := range slices.Concat(e.voters, e.gone, answering[:min(len(answering), candidates)]) {
		if m, member := v.memberOf(s.ID); member && !l.detector.failing(m.Incarnation) {
			add(m.Incarnation, m.API)
		}
		if p, seen := v.peerOf(s.ID); seen {
			add(p.Incarnation, p.API)
		}
	}
	return out
}

// surveyed records the outcome of a probe of a survey.
func (l *Leader) surveyed(v View, p Probe, err error) {
	asked := l.voters.survey
	if asked == nil || asked.round != p.round {
		return
	}
	asked.answered[p.To] = err == nil
	if asked.waiting--; asked.waiting == 0 {
		l.decideVoters(v)
	}
}

// decideVoters makes one step towards the right voters, by the survey that has ended: a
// new one before an old one goes, the dead before the surplus. A dead voter that has a
// disk may come back with all that it agreed to, so it stays until another takes its
// place.
func (l *Leader) decideVoters(v View) {
	asked := l.voters.survey
	l.voters.survey = nil
	if v.Mono-asked.began > surveyLimit {
		return
	}
	e, found := l.electorate(v)
	for _, p := range l.surveyOf(v, e) {
		if _, probed := asked.answered[p.Incarnation]; !probed {
			return // the voters have changed; the next step surveys these
		}
	}
	if c, due := l.nextVoters(v, e, asked); found && due {
		l.voters.reconfiguring = true
		l.member.Reconfigure(c)
	}
}

func (l *Leader) nextVoters(v View, e electorate, asked *survey) (Reconfiguration, bool) {
	answers := func(s Server) bool { return s.ID == l.server || l.answers(v, asked, s) }
	reached := func(s Server) bool { return s.ID == l.server || asked.reached(v, s) }
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

// answers reports whether a server's member answered. A dead one that was given a vote,
// because it died together with a voter and no probe had failed yet, would count against
// the majority and cost it.
func (l *Leader) answers(v View, asked *survey, s Server) bool {
	m, member := v.memberOf(s.ID)
	return member && !l.detector.failing(m.Incarnation) && asked.answered[m.Incarnation]
}

// reached reports whether a server that gossip sees answered, member or not.
func (s *survey) reached(v View, server Server) bool {
	p, seen := v.peerOf(server.ID)
	return seen && s.answered[p.Incarnation]
}

// promotes reports whether a vote may be given.
func (e electorate) promotes() bool { return e.voting < e.want && len(e.idle) > 0 }

// removes reports whether a server may be removed.
func (e electorate) removes() bool { return len(e.obsolete()) > 0 }

// obsolete returns the servers that may be removed. A voter that may come back is among
// them once as many vote as should.
func (e electorate) obsolete() []Server {
	if e.absent == 0 || e.voting >= e.want {
		return slices.Concat(e.gone, e.down)
	}
	return e.gone
}

// demotes reports whether a vote may be taken.
func (e electorate) demotes() bool { return e.voting >= e.want && len(e.spare()) > 0 }

// spare returns the voters that may lose their votes.
func (e electorate) spare() []Server {
	if e.voting > e.want {
		return slices.Concat(e.leavers, e.surplus)
	}
	return e.leavers
}

// removable returns a server to remove, one that does not answer first: a voter that
// left and still answers may be needed to agree on the removal of another. A voter is
// removed only if the rest have a majority that answers.
func (e electorate) removable(reached func(Server) bool) (Server, bool) {
	obsolete := e.obsolete()
	if len(obsolete) == 0 {
		return Server{}, false
	}
	s := obsolete[0]
	if i := slices.IndexFunc(obsolete, func(s Server) bool { return !reached(s) }); i >= 0 {
		s = obsolete[i]
	}
	return s, !s.Voter || e.agreesWithout(s, reached)
}

// dispensable returns a voter that is one too many, one that does not answer first. It
// goes only if the rest have a majority that answers: otherwise nothing could be agreed
// on, this step included. Its own silence does not matter for that: it may
// be the one that still answers Raft. One that stays and answers keeps its vote until a
// leader that leaves has lost its own, since that one may end at any time.
func (e electorate) dispensable(answers func(Server) bool) (Server, bool) {
	if !e.demotes() {
		return Server{}, false
	}
	spare := e.spare()
	if i := slices.IndexFunc(spare, func(s Server) bool { return !answers(s) }); i >= 0 {
		return spare[i], e.agreesWithout(spare[i], answers)
	}
	if e.passing && len(e.leavers) == 0 {
		return Server{}, false
	}
	return spare[0], e.agreesWithout(spare[0], answers)
}

// agreesWithout reports whether the voters other than one have a majority that answers.
func (e electorate) agreesWithout(gone Server, answers func(Server) bool) bool {
	remain, answering := 0, 0
	for _, s := range e.voters {
		if s.ID != gone.ID {
			remain++
			if answers(s) {
				answering++
			}
		}
	}
	return 2*answering > remain
}
