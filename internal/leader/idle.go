package leader

import (
	"math"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// A leader rests while it only raises the ceiling and probes members that answer. It then steps
// when one of these is due, and rarely otherwise.
//
//	          nothing is in progress, and nothing has changed, for restAfter
//	active ------------------------------------------------------------------> at rest
//	   ^                                                                          |
//	   +--------------------------------------------------------------------------+
//	      a request, a probe that fails, other members, servers, peers or version
const (
	// restAfter is the time without activity before a leader rests. It is longer than every pause
	// after which a step acts without an event.
	restAfter = 2 * time.Second
	// restStep is the longest time between steps at rest. It is short enough for [Leader.Numbers] to
	// distinguish it from a pause of the process.
	restStep = 2 * time.Second
)

// activity records when this leader last had something to do.
type activity struct {
	began   time.Duration // the first step
	stepped time.Duration // the last step
	stirred time.Duration // the last time that something was in progress, or had changed
	// The view at the last change.
	version roster.Version
	servers []Server
	peers   []Peer
}

// observe records whether a step found anything in progress, or anything changed.
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

// Due returns the time until the next [Leader.Step]: [StepEvery] after the last step, earlier after
// an event, and later at rest. Callers repeat it after each step and each other call. At rest the
// step is also due when the view changes.
func (l *Leader) Due(v View) time.Duration {
	due := l.activity.stepped + StepEvery
	if l.rests(v) {
		due = min(l.activity.stepped+restStep, l.ceiling.due(), l.detector.due())
	}
	return max(0, min(due, l.timer.at)-v.Mono)
}

// rests reports whether nothing but raises and probes is due.
func (l *Leader) rests(v View) bool {
	return v.Mono-l.activity.stirred >= restAfter && !l.inProgress(v)
}

// inProgress reports whether anything except raises and answered probes is in progress or awaited.
func (l *Leader) inProgress(v View) bool {
	r := v.Roster
	return l.changes.pending || l.anchoring.machine != nil || v.Leaving || l.ceiling.bound ||
		l.voters.busy() || l.additions.adding || l.succession.attempt != nil || l.admission.busy() ||
		len(l.forgets.open)+len(l.settings.open)+len(l.removals.open)+len(l.reports.unreached) > 0 ||
		len(l.protocols.waiting)+l.numbers.Pending() > 0 ||
		!r.Assigned() || r.Restarted || r.Stopped > 0 || r.Joining() > 0 || len(r.Unsettled) > 0 ||
		!l.detector.calm(v)
}

// never is the time of a step that is not due.
const never time.Duration = math.MaxInt64

// stepTimer holds the time of a step that is due before the next regular one. Its zero value
// is due immediately.
type stepTimer struct{ at time.Duration }

// advance makes the step due at a time, unless it is due before.
func (t *stepTimer) advance(at time.Duration) { t.at = min(t.at, at) }
