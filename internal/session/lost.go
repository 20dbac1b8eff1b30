package session

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// loss tracks a handle's move to another logical node after the grid gave its own to another holder.
// Its grant stays usable until it ends; then it lapses.
type loss struct {
	id     attachment.ID
	trying bool
	try    int
	pause  time.Duration // after the next failure
	next   time.Duration // when to try again
}

// replaceLost tries to replace a lost attachment when that is due, and has it lapse when
// all that was granted is over.
func (m *Machine) replaceLost(now Now, h *Handle) {
	l := h.loss
	if l == nil {
		return
	}
	if !l.trying && l.next <= now.Mono {
		l.trying = true
		l.try++
		m.effects.Replace = append(m.effects.Replace, Loss{Handle: h, ID: l.id, Try: l.try, Within: m.Window()})
	}
	if held, has := h.Control.Held(); has && held.ID == l.id && now.Time >= held.Grant.Until {
		m.effects.Lapse = append(m.effects.Lapse, Loss{Handle: h, ID: l.id})
	}
}

// Replaced records the end of a try to replace a lost attachment. lost means that the handle still
// lacks one, and its user has not given it up.
func (m *Machine) Replaced(now Now, h *Handle, lost bool) {
	l := h.loss
	if l == nil {
		return
	}
	if !lost {
		h.loss, h.busy = nil, false
		return
	}
	l.trying = false
	most := hurryMost
	if held, has := h.Control.Held(); has {
		most = hurry(held.Grant.Until.Sub(now.Time))
	}
	l.pause = min(l.pause, most)
	l.next = now.Mono + l.pause - m.cfg.Rand(l.pause/4)
	l.pause = min(2*l.pause, max(m.Window()/8, RetryAfter))
}

// lossDue returns when a lost attachment is due to be replaced or to lapse, or latest if
// that is earlier.
func (h *Handle) lossDue(now Now, latest time.Duration) time.Duration {
	l := h.loss
	if l == nil {
		return latest
	}
	if !l.trying {
		latest = min(latest, l.next)
	}
	held, has := h.Control.Held()
	if ahead := held.Grant.Until.Sub(now.Time); has && held.ID == l.id && ahead > 0 &&
		ahead < clustertime.SpanOf(lookAtLeast) {
		latest = min(latest, now.Mono+ahead.Duration())
	}
	return latest
}
