package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// A leader's observations, recorded independently from its machine and used to check it.

// doubtTime is the longest time until a leader detects an unreachable member.
const doubtTime = 2 * time.Second

// views are a leader's observations about each member.
type views struct {
	reached map[*seat]time.Duration   // time of the last reply
	failed  map[*member]time.Duration // time of the last probe that failed, or got a reply with an old roster
	absent  map[*member]bool          // a probe proved that the process is absent
}

func newViews() views {
	return views{reached: map[*seat]time.Duration{}, failed: map[*member]time.Duration{}, absent: map[*member]bool{}}
}

// probed records a probe's outcome.
func (l *lead) probed(of *member, version roster.Version, err error) {
	now := l.m.w.now
	if err == nil {
		l.views.reached[of.seat] = now
	}
	if err != nil || version < l.m.roster.Version {
		l.views.failed[of] = now
	}
}

// answeredPush records a member's reply to a push, unless the reply has an old roster, or a probe
// has failed since the push was sent.
func (l *lead) answeredPush(of *member, version roster.Version, sent time.Duration) {
	if failed, ever := l.views.failed[of]; version >= l.m.roster.Version && (!ever || failed < sent) {
		l.views.reached[of.seat] = l.m.w.now
	}
}

// look records which servers are reachable now, probed or not.
func (l *lead) look() {
	for _, s := range l.servers {
		if s.seat.answers(l.m) {
			l.views.reached[s.seat] = l.m.w.now
		}
	}
}

// reaches reports whether a seat replied recently. If it is unreachable now, the leader had no time
// to detect it.
func (l *lead) reaches(s *seat) bool {
	at, known := l.views.reached[s]
	return s == l.m.seat || known && l.m.w.now-at < doubtTime
}

// agree reports whether a majority of the voters in servers replied recently. A process from a copy of a voter's
// directory counts as in checkSuccessor: gossip sees one of the two, and the leader sends to that one.
func (l *lead) agree(servers []server) bool {
	voters, reached := 0, 0
	for _, s := range servers {
		if s.Voter {
			voters++
			if l.reaches(s.seat) || l.reachesCopy(s.seat) {
				reached++
			}
		}
	}
	return 2*reached > voters
}

// awake reports whether the leader has been running for long enough to be checked.
func (l *lead) awake() bool { return l.m.w.now-l.m.until > doubtTime }

// checkVoters requires that a leader with a majority of the voters also has one after a
// reconfiguration: a leader's own reconfiguration must not cost it the majority.
func (l *lead) checkVoters(next []server, c leader.Reconfiguration) error {
	if !l.awake() || l.m.g.agreed.leader != l.m || !l.agree(l.servers) || l.agree(next) {
		return nil
	}
	return fmt.Errorf("votes: leader %s reaches a majority of %s, and none of %s after operation %d on server %s",
		l.m.name, l.voters(l.servers), l.voters(next), c.Do, c.Server)
}

// checkSuccessor requires that a leader passes its lead to a voter that it reaches. A process from
// a copy of the voter's directory counts if gossip does not see the voter: Raft sends to the copy
// in this case.
func (l *lead) checkSuccessor(to *seat) error {
	if l.awake() && l.m.g.agreed.leader == l.m && !l.reaches(to) && !l.reachesCopy(to) {
		return fmt.Errorf("votes: leader %s passes its lead to seat %d, which it has not reached for %v", l.m.name,
			to.place, doubtTime)
	}
	return nil
}

// reachesCopy reports whether gossip did not see a seat's member, and another process with its
// identity replied recently.
func (l *lead) reachesCopy(of *seat) bool {
	m := of.running
	sees := func(p leader.Peer) bool { return p.Incarnation == m.inc }
	if m != nil && slices.ContainsFunc(l.stepped.Peers, sees) {
		return false
	}
	return slices.ContainsFunc(l.m.g.seats, func(s *seat) bool { return s != of && s.id == of.id && l.reaches(s) })
}

// checkRemoved requires that no member is removed or suspected if it recently answered every probe
// with the newest roster, unless it leaves or restarts (R7). If a replaced leader has not received
// a reset, replies from members that have it are under another claim, and do not count as replies
// (A9); its proposals are refused.
func (l *lead) checkRemoved(c *roster.Change) error {
	cutOff := map[roster.Incarnation]bool{} // members that other members report as unreachable may be suspected
	for _, pair := range l.machine.Apart(leader.View{Roster: l.m.roster, Mono: l.m.Mono(), Peers: l.stepped.Peers}) {
		cutOff[pair.A], cutOff[pair.B] = true, true
	}
	for _, inc := range slices.Concat(c.Remove, c.Doubt) {
		m := l.m.g.members[inc]
		if cutOff[inc] && !slices.Contains(c.Remove, inc) {
			continue
		}
		if m != nil && m.roster != nil && m.roster.Claim != l.m.roster.Claim {
			continue
		}
		if err := l.checkDead(m, c); err != nil {
			return err
		}
		failed, ever := l.views.failed[m]
		if answered, known := l.views.reached[m.seat]; known && l.awake() && m.alive && !m.leaving &&
			(!ever || answered-failed > doubtTime) {
			return fmt.Errorf("R7: leader %s takes member %s for dead, which has answered every probe for %v", l.m.name, m.name,
				answered-failed)
		}
	}
	return nil
}

// deadAfter is the time for which a leader has to probe a silent member before removing it: 5 s, up
// to half a second of which may precede its lead.
const deadAfter = 4500 * time.Millisecond

// checkDead requires that a running member is removed only after this much silence in the current
// lead, regardless of earlier observations (R7).
func (l *lead) checkDead(m *member, c *roster.Change) error {
	replaced := slices.ContainsFunc(c.Join, func(j roster.Member) bool { return j.Incarnation.Member() == m.inc.Member() })
	if !slices.Contains(c.Remove, m.inc) || !m.alive || m.leaving || replaced || l.views.absent[m] ||
		l.m.Mono()-l.began >= deadAfter {
		return nil
	}
	return fmt.Errorf("R7: leader %s removes member %s, which runs, %v after its lead began", l.m.name, m.name,
		l.m.Mono()-l.began)
}

// voters describes the voters in servers, and which were reached recently.
func (l *lead) voters(servers []server) (out string) {
	for _, s := range servers {
		if s.Voter {
			out += fmt.Sprintf("[seat %d, reached %v]", s.seat.place, l.reaches(s.seat))
		}
	}
	return out
}
