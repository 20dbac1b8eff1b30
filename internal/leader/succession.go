package leader

import (
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// succession passes a leaving leader's lead to a voter that stays and answers. Gossip may
// see a voter through other members only, and passing the lead to an unreachable voter would
// fail repeatedly.
//
//	        probes                   one answers
//	none ----------> asking voters --------------> transferring the lead
//	  ^                    |                              |
//	  +--------------------+------------------------------+
//	         none answers          it failed: retried
type succession struct {
	self    roster.Incarnation
	server  ServerID // this leader's
	members membership
	out     Member

	attempt *attempt // nil unless in progress
	rounds  uint64   // of attempts
	yielded bool     // an attempt has ended, and this leader still leads
}

// attempt is one round of probes of the voters that may lead.
type attempt struct {
	round        uint64
	waiting      int // probes without an outcome
	voters       map[roster.Incarnation]ServerID
	claim        roster.Claim // of the anchor, under which the next leader has to be registered; "" for any
	transferring bool
}

// step starts to pass the lead on if this member leaves. If no voter stays, the electorate
// promotes one first. began is the time of the leader's first step.
func (s *succession) step(v View, began time.Duration) {
	if v.Mono-began < StepEvery {
		return // a member that leaves too would pass it back before this leader is informed
	}
	if v.Leaving && s.attempt == nil {
		s.probe(v, "", func(Peer) bool { return true })
	}
}

// succeeded reports whether gossip sees another member that stays: it is a voter or will soon be
// one, and may lead.
func (s *succession) succeeded(v View) bool {
	return slices.ContainsFunc(v.Peers, func(p Peer) bool {
		_, member := v.Roster.Member(p.Incarnation)
		return member && p.Incarnation != s.self && !p.Leaving && !s.members.isLeaving(v, p.Incarnation)
	})
}

// mayFollow reports whether another member can lead when this one is no longer a member: gossip sees another voter that
// stays. Without one this leader keeps the lead until another member is promoted. The record is not taken then.
func (s *succession) mayFollow(v View) bool {
	return s.succeeded(v) && slices.ContainsFunc(v.Servers, func(of Server) bool {
		p, seen := v.peerOf(of.ID)
		return seen && of.Voter && of.ID != s.server && !p.Leaving
	})
}

// accompanied reports whether another leaving member is still in the roster, and gossip sees it.
func (s *succession) accompanied(v View) bool {
	return slices.ContainsFunc(v.Peers, func(p Peer) bool {
		_, member := v.Roster.Member(p.Incarnation)
		return member && p.Incarnation != s.self && (p.Leaving || s.members.isLeaving(v, p.Incarnation))
	})
}

// parting returns which of the leaving members leave the roster now. This one passes its lead
// first: a leader that is not a member would have to start again under an anchor. It does not wait
// if that failed. If all leave, it leaves after the others, which hand over to it. In an anchored grid it always leaves
// after others that leave, and not without a successor: it would take the anchor, become a member again by that, and
// leave, indefinitely.
func (s *succession) parting(v View, leavers []roster.Incarnation, anchored bool) []roster.Incarnation {
	passes, last := s.succeeded(v) && !s.yielded, s.accompanied(v) && (anchored || !s.succeeded(v))
	if v.Leaving && (passes || last || anchored && !s.mayFollow(v)) {
		leavers = slices.DeleteFunc(leavers, func(i roster.Incarnation) bool { return i == s.self })
	}
	return leavers
}

// probe probes the voters that stay and may lead, and passes the lead to the first that answers.
// With a claim, it has to be registered under that. It reports whether there are any.
func (s *succession) probe(v View, claim roster.Claim, may func(Peer) bool) bool {
	s.rounds++
	a := &attempt{round: s.rounds, claim: claim, voters: map[roster.Incarnation]ServerID{}}
	for _, server := range v.Servers {
		p, seen := v.peerOf(server.ID)
		if seen && server.Voter && server.ID != s.server && !p.Leaving && may(p) {
			a.waiting++
			a.voters[p.Incarnation] = server.ID
			s.out.Probe(newProbe(v.Mono, p.Incarnation, p.API, forSuccession, a.round))
		}
	}
	if a.waiting > 0 {
		s.attempt = a
	}
	return a.waiting > 0
}

// answered records the outcome of a voter's probe. A voter that has given up its claim could not lead under it.
func (s *succession) answered(p Probe, answer Answer, err error) {
	a := s.attempt
	if a == nil || a.round != p.round || a.transferring {
		return
	}
	a.waiting--
	switch {
	case err == nil && (a.claim == "" || answer.Claim == a.claim):
		a.transferring = true
		s.out.TransferLead(a.voters[p.To])
	case a.waiting == 0:
		s.ended()
	}
}

// ended records that an attempt has ended without a new leader.
func (s *succession) ended() { s.attempt, s.yielded = nil, true }
