package leader

import (
	"errors"
	"maps"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/plan"
)

const (
	// lagLimit bounds the age for a member's applied roster.
	lagLimit = 2 * time.Second

	probeUnsigned = 250 * time.Millisecond // pause after an answer without a Raft server: see Leader.Unreached
	probeSoon     = 50 * time.Millisecond  // pause after the first failure
	probeAgain    = 200 * time.Millisecond // pause after later failures
	// probeMany is the pause after an answer with a Raft server, and the longest pause without. With the default
	// window the ceiling is raised more often, so that pushes delay its probes. A member accepts the leader's
	// cluster time if it has answered a call within the 5 s before (internal/roster/follow, F5).
	probeMany = 1750 * time.Millisecond
	// detectTimeout bounds the probe of a member that has answered before, if that takes less than half as long. A
	// member that is farther away has twice its usual time, at most probeTimeout.
	detectTimeout = 250 * time.Millisecond
	// probesMost is the number of probes per second without a Raft server while the pauses are
	// shorter than probeMany.
	probesMost = 64
)

// detector is the leader's failure detector. It probes every member repeatedly, because
// gossip alone is not enough: false alarms cost moves and waits (R7). It probes a member
// immediately when Raft does not reach it: see Leader.Unreached. Answers to pushes count
// like answers to probes: see detector.pushAnswered.
//
//	          probes fail             for suspectAfter, or two are refused    for deadAfter
//	alive <----------------> failing -------------------------------> suspect ------------> dead
//	  |       one succeeds                                                                   ^
//	  +--------------------------------------------------------------------------------------+
//	                    gossip does not see it, and it is absent
//
// A probe fails if it is not answered, or answered with a roster older than lagLimit: an
// owner with such a roster can serve no holder. Two refused probes prove without gossip that
// the process has ended: a busy process does not refuse connections. A suspect costs at most
// a move, and only in-sync replicas take over. A dead member can cost tables, so deadAfter is
// longer by seenExtra while gossip sees the member.
type detector struct {
	self    roster.Incarnation
	silence Silence // the previous leader's
	out     Member
	timer   *stepTimer // for probes and verdicts between regular steps

	contacts map[roster.Incarnation]*contact // all roster members except this one
	// versions are roster versions, ascending, each with the time at which this leader first saw it.
	// The first is the newest that is at least lagLimit old, if there is one.
	versions []seenVersion
	rounds   uint64 // of contacts
	// wanted is a time. Each member has to answer a probe that began later.
	wanted time.Duration
}

type seenVersion struct {
	version roster.Version
	at      time.Duration
}

// step probes the members whose probe is due.
func (d *detector) step(v View) {
	d.noteVersion(v.Roster.Version, v.Mono)
	maps.DeleteFunc(d.contacts, func(inc roster.Incarnation, _ *contact) bool {
		_, member := v.Roster.Member(inc)
		return !member
	})
	for _, m := range v.Roster.Members {
		if m.Incarnation == d.self {
			continue
		}
		c := d.contacts[m.Incarnation]
		if c == nil {
			d.rounds++
			begin := d.silence.begin(m.Incarnation, v.Mono)
			begin.round = d.rounds
			c = &begin
			d.contacts[m.Incarnation] = c
		}
		if stale := !c.failing && c.answered < d.wanted; !c.probing && (v.Mono >= c.next || stale) {
			c.probing, c.began = true, v.Mono
			p := newProbe(c.began, m.Incarnation, m.API, forDetection, c.round)
			if c.heard || m.Incarnation == d.silence.Member {
				p.Timeout = min(probeTimeout, max(detectTimeout, 2*c.trip))
			}
			d.out.Probe(p)
		}
	}
}

// probed records a probe's outcome.
func (d *detector) probed(v View, p Probe, a Answer, err error) {
	if err == nil && a.foreign(v.Roster) {
		err = errForeign
	}
	c := d.contacts[p.To]
	if c == nil {
		return
	}
	d.judgeAgain(v, p.To, c, func() { d.noteProbe(v, c, p, a, err) })
	if c.failing || err == nil && p.began < c.signed {
		d.advance(v, c)
	}
}

func (d *detector) noteProbe(v View, c *contact, p Probe, a Answer, err error) {
	if c.round != p.round {
		return
	}
	c.probing = false
	if err == nil && d.noteAnswer(v, c, p.began, a) {
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

// judgeAgain records a call, and reports whether a step is due by it: a member
// that becomes suspect or dead is replaced immediately.
func (d *detector) judgeAgain(v View, of roster.Incarnation, c *contact, record func()) (due bool) {
	suspect, dead := c.verdict(v, of)
	record()
	if s, x := c.verdict(v, of); s != suspect || x != dead {
		d.timer.advance(v.Mono)
		return true
	}
	return false
}

// advance makes a step due at a member's next probe.
func (d *detector) advance(v View, c *contact) {
	if !c.probing {
		d.timer.advance(max(c.next, v.Mono))
	}
}

// pause returns the time between an answer and the next probe. Raft reports immediately if it
// does not reach one of its servers. All other members are probed more often in a small grid,
// and less often in a large one, where most answers are answers to pushes.
func (d *detector) pause(v View, to roster.Incarnation) time.Duration {
	if m, _ := v.Roster.Member(to); v.serves(ServerOf(to, m.Durable)) {
		return probeMany
	}
	return min(probeMany, max(probeUnsigned, time.Duration(len(v.Roster.Members))*time.Second/probesMost))
}

// refresh makes a probe due for each member that has not answered since.
func (d *detector) refresh(now time.Duration) { d.wanted = now }

// judge adds the suspect and the dead members to a sight.
func (d *detector) judge(v View, s *plan.Sight) {
	live := v.live()
	for _, m := range v.Roster.Members {
		c := d.contacts[m.Incarnation]
		switch seen := live[m.Incarnation]; {
		case c == nil || m.Incarnation == d.self:
		case c.dead(seen, v.Mono):
			s.Gone = append(s.Gone, m.Incarnation)
		case c.suspect(seen, v.Mono):
			s.Silent = append(s.Silent, m.Incarnation)
		}
	}
}

// settled reports whether every other member has answered once, or is lost.
func (d *detector) settled(v View) bool {
	live := v.live()
	for _, m := range v.Roster.Members {
		c := d.contacts[m.Incarnation]
		if m.Incarnation != d.self && (c == nil || !c.heard && !c.lost(live[m.Incarnation], v.Mono)) {
			return false
		}
	}
	return true
}

// release returns a member's release, and false if it has not answered yet.
func (d *detector) release(inc roster.Incarnation) (roster.Release, bool) {
	if c := d.contacts[inc]; c != nil {
		return c.release, c.said
	}
	return roster.Release{}, false
}

// failing reports whether a member's last probe failed.
func (d *detector) failing(inc roster.Incarnation) bool {
	c := d.contacts[inc]
	return c != nil && c.failing
}

// reaches reports whether another member answers this leader.
func (d *detector) reaches(v View, inc roster.Incarnation) bool {
	c := d.contacts[inc]
	_, member := v.Roster.Member(inc)
	if !member || inc == d.self || c == nil || !c.heard {
		return false
	}
	suspect, _ := c.verdict(v, inc)
	return !suspect
}

// answeredSince reports whether a member has answered a probe or a push that began at a time
// or later. The leader itself has.
func (d *detector) answeredSince(inc roster.Incarnation, since time.Duration) bool {
	c := d.contacts[inc]
	return inc == d.self || c != nil && !c.failing && c.answered >= since
}

// calm reports whether every other member has answered its last probe.
func (d *detector) calm(v View) bool {
	for _, m := range v.Roster.Members {
		c := d.contacts[m.Incarnation]
		if m.Incarnation != d.self && (c == nil || !c.heard || c.failing) {
			return false
		}
	}
	return true
}

// due returns the time at which the next probe starts.
func (d *detector) due() time.Duration {
	due := never
	for _, c := range d.contacts {
		if !c.probing {
			due = min(due, c.next)
		}
	}
	return due
}

func (d *detector) noteVersion(v roster.Version, now time.Duration) {
	if n := len(d.versions); n == 0 || d.versions[n-1].version < v {
		d.versions = append(d.versions, seenVersion{v, now})
	}
	for len(d.versions) > 1 && now-d.versions[1].at >= lagLimit {
		d.versions = d.versions[1:]
	}
}
