package leader

import (
	"errors"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/plan"
)

// How long probes of a member have to fail.
const (
	// suspectAfter is for a replica that is in sync to take the member's place, and
	// deadAfter for tables to be lost that no other member has.
	suspectAfter = 500 * time.Millisecond
	deadAfter    = 5 * time.Second
	// seenExtra is added to deadAfter while gossip sees the member alive, and to
	// suspectAfter if such a member answers by an old roster.
	seenExtra = 3 * time.Second
	// lagLimit is how old the roster may be that a member has applied.
	lagLimit = 2 * time.Second
	// suspectFailures is the least number of probes in a row that fail before silence
	// counts.
	suspectFailures = 2
	// standstill is the longest time between outcomes of probes of a member that is silent. When it
	// is longer this leader has stood still itself: it knows nothing of that time, and what it knew
	// before is too old.
	standstill = 2 * time.Second

	probeUnsigned = 250 * time.Millisecond // pause after an answer of a member without a Raft server: see Unreached
	probeSoon     = 50 * time.Millisecond  // pause after the first failure
	probeAgain    = 200 * time.Millisecond // pause after later ones
	// probeMany is the pause of a member with a Raft server, and the longest of one without. With
	// the default window the ceiling is raised more often, so that pushes put its probes off. A member
	// believes the time of a raise if it has answered a call within the 2 s before (internal/roster/follow, F5).
	probeMany = 1750 * time.Millisecond
	// detectTimeout is how long a member may take that has answered before.
	detectTimeout = 250 * time.Millisecond
	// probesMost is how many members without a Raft server are probed in a second at most, as
	// long as the pauses are shorter than probeMany.
	probesMost = 64
)

// detector is the leader's failure detector. It probes every member again and again,
// since the word of gossip is not enough: its false alarms cost moves and waits (R7).
// It probes immediately when Raft does not reach a member: see [Leader.Unreached]. Answers to
// pushes count like those to probes: see [Leader.Told].
//
//	          probes fail             for suspectAfter, or two are refused    for deadAfter
//	alive <----------------> failing -------------------------------> suspect ------------> dead
//	  |       one succeeds                                                                   ^
//	  +--------------------------------------------------------------------------------------+
//	                    gossip does not see it, and it is absent
//
// A probe fails that is not answered, or is answered with a roster older than lagLimit:
// such an owner can serve no holder. Two refused probes prove without gossip that the
// process has ended: a process that is only busy refuses no connection. To be suspect
// costs at most a move, and only replicas in sync take over. To be dead can cost tables,
// so gossip has a say in it: while it sees the member, deadAfter is longer by seenExtra.
type detector struct {
	contacts map[roster.Incarnation]*contact // every member of the roster but this one
	// versions of the roster, ascending, each with the time when this leader first saw it.
	// The first is the newest that is at least lagLimit old, if any is.
	versions []seenVersion
	rounds   uint64 // of contacts
	// wanted is a time: of each member an answer is wanted to a probe that began later.
	wanted time.Duration
}

// contact records the outcomes of the probes of one member, and its answers to pushes.
type contact struct {
	round    uint64        // of its probes: an incarnation that is admitted again starts again
	admitted time.Duration // when this record began
	probing  bool          // one has no outcome yet
	next     time.Duration // when the next is due
	heard    bool          // a call was answered
	// answered is when the newest call began that was answered by a recent roster: a probe or
	// a push.
	answered time.Duration
	began    time.Duration // when the newest probe began
	signed   time.Duration // when Raft last did not reach the member
	failing  bool          // the last one failed, and no later call was answered
	failed   time.Duration // when the newest probe began that failed
	ended    time.Duration // if failing: when the outcome of the last one came
	since    time.Duration // if failing: when the first of those that failed began
	failures int           // if failing: how many failed in a row
	lags     bool          // if failing: the last one was answered, with an old roster
	absent   bool          // if failing: the last one proved that the member is not there
	refused  Refusals
	said     bool // it has said which release it runs, and its zone
	learns   bool // it has said that it needs no server
	waits    bool // it has said that it begins no election within a second
	release  roster.Release
	zone     string
}

type seenVersion struct {
	version roster.Version
	at      time.Duration
}

func newDetector() detector {
	return detector{contacts: map[roster.Incarnation]*contact{}}
}

// probeMembers probes the members whose probe is due.
func (l *Leader) probeMembers(v View) {
	d := &l.detector
	d.noteVersion(v.Roster.Version, v.Mono)
	for inc := range d.contacts {
		if _, member := v.Roster.Member(inc); !member {
			delete(d.contacts, inc)
		}
	}
	for _, m := range v.Roster.Members {
		if m.Incarnation == l.self {
			continue
		}
		c := d.contacts[m.Incarnation]
		if c == nil {
			d.rounds++
			begin := l.cfg.Silence.begin(m.Incarnation, v.Mono)
			begin.round = d.rounds
			c = &begin
			d.contacts[m.Incarnation] = c
		}
		if stale := !c.failing && c.answered < d.wanted; !c.probing && (v.Mono >= c.next || stale) {
			c.probing, c.began = true, v.Mono
			l.probe(v, m.Incarnation, m.API, forDetection, c.round)
		}
	}
}

// probed records the outcome of a member's probe.
func (d *detector) probed(v View, p Probe, a Answer, err error) {
	c := d.contacts[p.To]
	if c == nil || c.round != p.round {
		return
	}
	c.probing = false
	if err == nil && d.noteAnswer(c, p.began, a) {
		if p.began >= c.signed {
			c.next = max(c.next, v.Mono+d.pause(v, p.To))
		}
		return
	}
	if p.began < c.answered { // a push that began later was answered
		return
	}
	if v.Mono-p.began > p.Timeout+standstill {
		c.next = v.Mono
		return
	}
	c.refused.Note(p.began, err)
	if !c.failing || p.began-c.ended > standstill {
		c.failing, c.since, c.failures = true, p.began, 0
	}
	c.failures++
	c.failed, c.ended, c.absent, c.lags = p.began, v.Mono, errors.Is(err, ErrAbsent), err == nil
	c.next = v.Mono + c.pause()
}

// pause returns the time between an answer and the next probe. Raft says immediately when
// it does not reach one of its servers. All other members are probed more often in a small
// grid, and less often in a large one, where most answers are those to pushes.
func (d *detector) pause(v View, to roster.Incarnation) time.Duration {
	if m, _ := v.Roster.Member(to); v.serves(ServerOf(to, m.Durable)) {
		return probeMany
	}
	return min(probeMany, max(probeUnsigned, time.Duration(len(v.Roster.Members))*time.Second/probesMost))
}

// pause returns the time between a failure and the next probe.
func (c *contact) pause() time.Duration {
	switch {
	case c.absent && !c.refused.Prove():
		return refusedApart
	case c.failures < suspectFailures:
		return probeSoon
	}
	return probeAgain
}

// Unreached takes in a sign that a member may have ended or paused: Raft's last
// request to its server failed, or with slow set has had no answer for a while. The
// member is probed immediately, or, if it is only slow, not more often than each
// probeUnsigned. A sign decides nothing.
func (l *Leader) Unreached(v View, server ServerID, slow bool) {
	m, found := MemberOf(v.Roster, server)
	c := l.detector.contacts[m.Incarnation]
	if !found || c == nil {
		return
	}
	c.signed = v.Mono
	if c.failing {
		return // those that fail are probed soon in any case
	}
	earliest := c.began + refusedApart
	if slow {
		earliest = c.began + probeUnsigned
	}
	c.next = min(c.next, max(v.Mono, earliest))
	l.hurry(v, c)
}

// judge adds the members that are suspect and those that are dead to a sight.
func (d *detector) judge(v View, self roster.Incarnation, s *plan.Sight) {
	live := v.live()
	for _, m := range v.Roster.Members {
		c := d.contacts[m.Incarnation]
		switch seen := live[m.Incarnation]; {
		case c == nil || m.Incarnation == self:
		case c.dead(seen, v.Mono):
			s.Gone = append(s.Gone, m.Incarnation)
		case c.suspect(seen, v.Mono):
			s.Silent = append(s.Silent, m.Incarnation)
		}
	}
}

// suspect reports whether replicas that hold the same tables may take the member's
// place; seen reports whether gossip sees it alive.
func (c *contact) suspect(seen bool, now time.Duration) bool {
	if c.absent && (!seen || c.refused.Prove()) {
		return true
	}
	return c.failures >= suspectFailures && c.silent(now, suspectAfter+extra(seen && c.lags))
}

// silent reports whether the member has been silent for a time, and was so lately.
func (c *contact) silent(now, d time.Duration) bool {
	return c.failing && now-c.since >= d && now-c.ended <= standstill
}

// verdict returns whether the member is suspect and whether it is dead, by the view.
func (c *contact) verdict(v View, of roster.Incarnation) (suspect, dead bool) {
	if !c.failing {
		return false, false
	}
	seen := v.sees(of)
	return c.suspect(seen, v.Mono), c.dead(seen, v.Mono)
}

// lost reports whether tables are no longer awaited that the member may have: gossip has
// a say.
func (c *contact) lost(seen bool, now time.Duration) bool {
	return c.silent(now, suspectAfter+extra(seen)) || c.absent && !seen
}

// dead reports whether the member is removed.
func (c *contact) dead(seen bool, now time.Duration) bool {
	return c.silent(now, deadAfter+extra(seen)) || c.absent && !seen
}

// settled reports whether every other member has answered once, or is lost.
func (d *detector) settled(v View, self roster.Incarnation) bool {
	live := v.live()
	for _, m := range v.Roster.Members {
		c := d.contacts[m.Incarnation]
		if m.Incarnation != self && (c == nil || !c.heard && !c.lost(live[m.Incarnation], v.Mono)) {
			return false
		}
	}
	return true
}

// release returns the release of a member, and false if it has not answered yet.
func (d *detector) release(inc roster.Incarnation) (roster.Release, bool) {
	if c := d.contacts[inc]; c != nil {
		return c.release, c.said
	}
	return roster.Release{}, false
}

// failing reports whether the last probe of a member failed.
func (d *detector) failing(inc roster.Incarnation) bool {
	c := d.contacts[inc]
	return c != nil && c.failing
}

func extra(seen bool) time.Duration {
	if seen {
		return seenExtra
	}
	return 0
}

// noteVersion records when a version of the roster was first seen.
func (d *detector) noteVersion(v roster.Version, now time.Duration) {
	if n := len(d.versions); n == 0 || d.versions[n-1].version < v {
		d.versions = append(d.versions, seenVersion{v, now})
	}
	for len(d.versions) > 1 && now-d.versions[1].at >= lagLimit {
		d.versions = d.versions[1:]
	}
}

// sees reports whether gossip sees an incarnation alive.
func (v View) sees(inc roster.Incarnation) bool {
	for _, p := range v.Peers {
		if p.Incarnation == inc {
			return true
		}
	}
	return false
}

// live returns the incarnations that gossip sees alive, for a look at many members.
func (v View) live() map[roster.Incarnation]bool {
	out := make(map[roster.Incarnation]bool, len(v.Peers))
	for _, p := range v.Peers {
		out[p.Incarnation] = true
	}
	return out
}
