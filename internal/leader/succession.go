package leader

import (
	"slices"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// succession is a leader's leave: it passes the lead to a voter that stays and answers.
// Gossip may know of a voter by other members only, and passing the lead to one that is
// out of reach would fail again and again.
//
//	        probes                   one answers
//	none ----------> asking voters --------------> transferring the lead
//	  ^                    |                              |
//	  +--------------------+------------------------------+
//	         none answers          it failed: tried again
type succession struct {
	round        uint64
	waiting      int // probes without an outcome
	voters       map[roster.Incarnation]ServerID
	transferring bool
}

// passLead begins to pass the lead on, if this member leaves. A voter that stays is
// there soon if there is none yet: see keepVoters.
func (l *Leader) passLead(v View) {
	if v.Mono-l.activity.began < StepEvery {
		return // a member that leaves too would pass it back before it is heard that it leaves
	}
	if v.Leaving && l.voters.succession == nil {
		l.askSuccessors(v, func(Peer) bool { return true })
	}
}

// succeeded reports whether there is another member that stays and that gossip sees: it is a
// voter soon if it is none, and may take the lead.
func (l *Leader) succeeded(v View) bool {
	return slices.ContainsFunc(v.Peers, func(p Peer) bool {
		_, member := v.Roster.Member(p.Incarnation)
		return member && p.Incarnation != l.self && !p.Leaving && !l.leaves(v, p.Incarnation)
	})
}

// hasSuccessor reports whether another voter stays that gossip sees: it can take the lead.
// Without one this leader leads on, and another member gets a vote.
func (l *Leader) hasSuccessor(v View) bool {
	return slices.ContainsFunc(v.Servers, func(s Server) bool {
		p, seen := v.peerOf(s.ID)
		return seen && s.Voter && s.ID != l.server && !p.Leaving
	})
}

// parting returns, sorted, the members that leave the roster now. This one passes its lead
// first: a leader that is not a member would have to begin again under an anchor. If that
// failed, or all leave, it does not wait; but in an anchored grid it leaves after the others that
// leave. It would take the anchor to remove them, be a member again by that, and leave, without end.
func (l *Leader) parting(v View) []roster.Incarnation {
	out := l.leavers(v)
	if v.Leaving && (!l.yielded && l.succeeded(v) || l.anchor != nil && l.accompanied(v)) {
		out = slices.DeleteFunc(out, func(i roster.Incarnation) bool { return i == l.self })
	}
	return out
}

// accompanied reports whether another member that leaves is still in the roster, and gossip sees it.
func (l *Leader) accompanied(v View) bool {
	return slices.ContainsFunc(v.Peers, func(p Peer) bool {
		_, member := v.Roster.Member(p.Incarnation)
		return member && p.Incarnation != l.self && (p.Leaving || l.leaves(v, p.Incarnation))
	})
}

// askSuccessors probes the voters that stay and may lead, and passes the lead to the
// first that answers. It reports whether there are any.
func (l *Leader) askSuccessors(v View, may func(Peer) bool) bool {
	l.voters.rounds++
	s := &succession{round: l.voters.rounds, voters: map[roster.Incarnation]ServerID{}}
	for _, server := range v.Servers {
		p, seen := v.peerOf(server.ID)
		if seen && server.Voter && server.ID != l.server && !p.Leaving && may(p) {
			s.waiting++
			s.voters[p.Incarnation] = server.ID
			l.probe(v, p.Incarnation, p.API, forSuccession, s.round)
		}
	}
	if s.waiting > 0 {
		l.voters.succession = s
	}
	return s.waiting > 0
}

// successorAnswered records the outcome of a voter's probe.
func (l *Leader) successorAnswered(p Probe, err error) {
	s := l.voters.succession
	if s == nil || s.round != p.round || s.transferring {
		return
	}
	s.waiting--
	switch {
	case err == nil:
		s.transferring = true
		l.member.TransferLead(s.voters[p.To])
	case s.waiting == 0:
		l.voters.succession, l.yielded = nil, true
	}
}

// LeadTransferred records that the transfer of the lead has ended. If this member still
// leads, the transfer failed.
func (l *Leader) LeadTransferred() { l.voters.succession, l.yielded = nil, true }
