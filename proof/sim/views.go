package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// The observations of a leader, kept beside its machine to judge the machine by.

// doubtTime is how long a leader may take to notice that a member is out of reach.
const doubtTime = 2 * time.Second

// views are a leader's observations of each member.
type views struct {
	reached map[*seat]time.Duration   // when it answered last
	failed  map[*member]time.Duration // when a probe failed last, or was answered by an old roster
	absent  map[*member]bool          // a probe proved that the process is not there
}

func newViews() views {
	return views{reached: map[*seat]time.Duration{}, failed: map[*member]time.Duration{}, absent: map[*member]bool{}}
}

// probed records the outcome of a probe.
func (l *lead) probed(of *member, version roster.Version, err error) {
	now := l.m.w.now
	if err == nil {
		l.views.reached[of.seat] = now
	}
	if err != nil || version < l.m.roster.Version {
		l.views.failed[of] = now
	}
}

// answeredPush records a member's answer to a push, unless it is by an old roster, or a probe
// has failed since the push was sent.
func (l *lead) answeredPush(of *member, version roster.Version, sent time.Duration) {
	if failed, ever := l.views.failed[of]; version >= l.m.roster.Version && (!ever || failed < sent) {
		l.views.reached[of.seat] = l.m.w.now
	}
}

// look records which servers answer now, probed or not.
func (l *lead) look() {
	for _, s := range l.servers {
		if s.seat.answers(l.m) {
			l.views.reached[s.seat] = l.m.w.now
		}
	}
}

// reaches reports whether a seat answered lately, so that the leader had no time to
// notice if it does not now.
func (l *lead) reaches(s *seat) bool {
	at, known := l.views.reached[s]
	return s == l.m.seat || known && l.m.w.now-at < doubtTime
}

// agree reports whether a majority of the voters among some servers answered lately.
func (l *lead) agree(servers []server) bool {
	voters, reached := 0, 0
	for _, s := range servers {
		if s.Voter {
			voters++
			if l.reaches(s.seat) {
				reached++
			}
		}
	}
	return 2*reached > voters
}

// awake reports whether the leader has been running for long enough to be judged.
func (l *lead) awake() bool { return l.m.w.now-l.m.until > doubtTime }

// checkVoters wants a leader that has a majority of the voters to have one of the next,
// too: no reconfiguration of its own may cost it.
func (l *lead) checkVoters(next []server, c leader.Reconfiguration) error {
	if !l.awake() || l.m.g.agreed.leader != l.m || !l.agree(l.servers) || l.agree(next) {
		return nil
	}
	return fmt.Errorf("votes: leader %s reaches a majority of %s, and none of %s after operation %d on server %s",
		l.m.name, l.voters(l.servers), l.voters(next), c.Do, c.Server)
}

// checkSuccessor wants a leader to pass its lead to a voter that it reaches. A process from a copy of the
// voter's directory answers for a voter that gossip does not see: Raft sends to the copy then.
func (l *lead) checkSuccessor(to *seat) error {
	if l.awake() && l.m.g.agreed.leader == l.m && !l.reaches(to) && !l.reachesCopy(to) {
		return fmt.Errorf("votes: leader %s passes its lead to seat %d, which it has not reached for %v", l.m.name,
			to.place, doubtTime)
	}
	return nil
}

// reachesCopy reports whether gossip did not see a seat's member, and another process with its identity
// answered lately.
func (l *lead) reachesCopy(of *seat) bool {
	m := of.running
	sees := func(p leader.Peer) bool { return p.Incarnation == m.inc }
	if m != nil && slices.ContainsFunc(l.stepped.Peers, sees) {
		return false
	}
	return slices.ContainsFunc(l.m.g.seats, func(s *seat) bool { return s != of && s.id == of.id && l.reaches(s) })
}

// checkRemoved wants no member to be removed or suspected that has answered every probe of
// late, and with the newest roster, unless it leaves or starts again (R7). To a leader that
// was replaced and has not learned of a reset, the answers of those that have are of
// another claim, which does not count as an answer (A9); its proposals are refused.
func (l *lead) checkRemoved(c *roster.Change) error {
	cutOff := map[roster.Incarnation]bool{} // members that others have reported may be in doubt
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

// deadAfter is how long a leader has to probe a silent member before that is removed: 5 s, of which
// half a second may be from before its lead.
const deadAfter = 4500 * time.Millisecond

// checkDead wants a member that runs to be removed only after it was silent for so long in this lead,
// whatever was known of it before (R7).
func (l *lead) checkDead(m *member, c *roster.Change) error {
	replaced := slices.ContainsFunc(c.Join, func(j roster.Member) bool { return j.Incarnation.Member() == m.inc.Member() })
	if !slices.Contains(c.Remove, m.inc) || !m.alive || m.leaving || replaced || l.views.absent[m] ||
		l.m.Mono()-l.began >= deadAfter {
		return nil
	}
	return fmt.Errorf("R7: leader %s removes member %s, which runs, %v after its lead began", l.m.name, m.name,
		l.m.Mono()-l.began)
}

// voters shows the voters among servers, and which of them were reached lately.
func (l *lead) voters(servers []server) (out string) {
	for _, s := range servers {
		if s.Voter {
			out += fmt.Sprintf("[seat %d, reached %v]", s.seat.place, l.reaches(s.seat))
		}
	}
	return out
}
