package session

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// paced schedules the next renewal at the member's pace, but no later than with half of the last grant
// left.
func (m *Machine) paced(r *Renewal, pace time.Duration) {
	if pace <= 0 {
		return
	}
	pace = max(min(pace, m.Window()/2), m.Window()/4)
	next := r.began + pace - m.cfg.Rand(pace/5+1)
	for _, s := range r.sets {
		for _, h := range s.handles {
			h.next = next
		}
	}
	for _, h := range r.handles {
		h.next = next
	}
}

// slowly returns the pause after a time-out or a short grant, given the number of such answers in
// succession before this one. Most of the grant's window is left, and the members are overloaded.
// The pause grows up to the interval between successful renewals: members that serve no renewal in
// time then have no more to serve than before.
func (m *Machine) slowly(before int) time.Duration {
	return m.drawn(m.Window()/16<<before, m.Window()/4)
}

// hurryMost is the longest pause of a handle whose grant ends, or has ended: its users wait for IDs.
const hurryMost = 8 * time.Second

// hurry returns the longest pause before the next try to renew a grant, given the rest of its time. Pauses grow with
// the window, and with a long window they would otherwise outlast the grant, and the fault, by minutes.
func hurry(left clustertime.Span) time.Duration { return max(left.Duration()/4, hurryMost) }

// drawn bounds a pause, and draws it.
func (m *Machine) drawn(pause, most time.Duration) time.Duration {
	pause = max(min(pause, most), RetryAfter)
	return pause - m.cfg.Rand(pause/4)
}
