package leader

import (
	"math"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// A leader rests while it only raises the ceiling and probes members that answer. It is then
// stepped when one of these is due, and seldom besides.
//
//	          nothing is in progress, and nothing has changed, for restAfter
//	active ------------------------------------------------------------------> at rest
//	   ^                                                                          |
//	   +--------------------------------------------------------------------------+
//	      a request, a probe that fails, other members, servers, peers or version
const (
	// restAfter is how long nothing has happened before a leader rests. It is longer than
	// every pause after which a step does something on its own account at a rest.
	restAfter = 2 * time.Second
	// restStep is the longest time between steps at rest. It is short enough for numbers.begin
	// to tell it from a pause of the process.
	restStep = 2 * time.Second
)

// activity is when this leader last had something to do.
type activity struct {
	began   time.Duration // the first step
	stepped time.Duration // the last step
	stirred time.Duration // when something was last in progress, or had changed
	// The view at the last change.
	version roster.Version
	servers []Server
	peers   []Peer
}

// observe notes whether a step found anything in progress, or anything changed.
func (a *activity) observe(v View, inProgress bool) {
	a.stepped = v.Mono
	changed := a.version != v.Roster.Version || !slices.Equal(a.servers, v.Servers) || !slices.Equal(a.peers, v.Peers)
	if inProgress || changed {
		a.stirred = v.Mono
	}
	if changed {
		a.version, a.servers, a.peers = v.Roster.Version, slices.Clone(v.Servers), slices.Clone(v.Peers)
	}
}

// Due returns the time until [Leader.Step] is to be called: [StepEvery] after the last step,
// earlier after news, and later at rest. It is asked after each step and each call that brings
// news. At rest a change of the view is news, too: the step is due then.
func (l *Leader) Due(v View) time.Duration {
	due := l.activity.stepped + StepEvery
	if l.rests(v) {
		due = min(l.activity.stepped+restStep, l.ceiling.due(), l.detector.due())
	}
	return max(0, min(due, l.due)-v.Mono)
}

// rests reports whether nothing but raises and probes is due.
func (l *Leader) rests(v View) bool {
	return v.Mono-l.activity.stirred >= restAfter && !l.inProgress(v)
}

// MayRest reports whether Raft's heartbeats may be so far apart that servers of earlier releases would
// begin elections: every other server has said that it waits for longer.
func (l *Leader) MayRest(v View) bool {
	for _, s := range v.Servers {
		m, member := v.memberOf(s.ID)
		c := l.detector.contacts[m.Incarnation]
		if s.ID != l.server && (!member || c == nil || !c.waits) {
			return false
		}
	}
	return true
}

// inProgress reports whether anything is being done besides raises and probes that are answered,
// or is waited for.
func (l *Leader) inProgress(v View) bool {
	r, s, q := v.Roster, &l.voters, &l.requests
	return l.changing || l.anchor != nil || v.Leaving || l.ceiling.bound ||
		s.survey != nil || s.reconfiguring || s.adding || s.succession != nil || len(s.givenUp) > 0 ||
		len(q.joins)+len(q.leaves)+len(l.inquiry.open)+len(l.forgets)+len(l.settings)+len(l.removals)+len(q.unreached) > 0 ||
		len(l.protocols.waiting)+len(l.numbers.pending) > 0 ||
		!r.Assigned() || r.Restarted || r.Stopped > 0 || r.Joining() > 0 || len(r.Unsettled) > 0 ||
		!l.detector.calm(v, l.self)
}

// due returns when the ceiling needs the next step.
func (c *ceiling) due() time.Duration {
	switch {
	case c.reading != nil:
		return c.reading.deadline
	case c.proposing:
		return math.MaxInt64
	}
	return c.next
}

// calm reports whether every other member has answered its last probe.
func (d *detector) calm(v View, self roster.Incarnation) bool {
	for _, m := range v.Roster.Members {
		c := d.contacts[m.Incarnation]
		if m.Incarnation != self && (c == nil || !c.heard || c.failing) {
			return false
		}
	}
	return true
}

// due returns when the next probe is due of those that have no probe in progress.
func (d *detector) due() time.Duration {
	due := time.Duration(math.MaxInt64)
	for _, c := range d.contacts {
		if !c.probing {
			due = min(due, c.next)
		}
	}
	return due
}
