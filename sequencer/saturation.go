package sequencer

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// saturation measures the rate at which slots are used. While callers use all slots, timestamps may
// be old (trail), and reading the cycle counter for each slot would cost as much as everything
// else; with very many slots per millisecond it would become the bottleneck much earlier. In this
// saturated mode only every sixteenth slot checks the clock. A timer ends the mode when the callers
// have gone.
type saturation struct {
	now   clustertime.Tick // of the last look in another millisecond
	next  int64            // at that look
	lost  int64            // ... and how many were lost
	full  bool             // all slots were used up since
	timer *time.Timer
	armed bool
	seen  int64 // next when the timer was set
}

const (
	// saturationCounters is the number of IDs per millisecond from which on a check for each slot
	// is expensive. With fewer, each call checks: if the machine stalls, only a call that has just
	// checked can have a timestamp older than the trail. manyCounters is the number from which on
	// the cost matters before all IDs are used.
	saturationCounters = 1 << 13
	manyCounters       = 1 << 15
	// saturationStride selects the slots that check the clock: slots with these low bits set.
	saturationStride = 15
	// saturationShare is the used share from which on the mode is saturated: two callers that both
	// read the cycle counter get at most half of all slots.
	saturationShare = 3
	// trailShare is the share that callers may leave unused and still trail. A caller that
	// sometimes takes slightly fewer, because its processor is slower then, could not recover the
	// slots of its sleep otherwise.
	trailShare = 4
	// saturationLook is the interval at which cool checks that callers are still active.
	saturationLook = time.Millisecond
)

// look records the slots used since the last reading in another millisecond. Unless
// counted, no counter shows the end of the millisecond, and every call reads the clock.
func (d *saturation) look(g *generator, now clustertime.Tick, counted bool) {
	if now <= d.now {
		return
	}
	next, lost := g.next.Load(), g.counts.lost.Load()
	used, had := next-d.next-(lost-d.lost), g.slotAt(now.Sub(d.now))
	if now < g.trailUntil && used > had-had/trailShare {
		g.trailUntil = now.Add(memory) // callers still use nearly all slots
	}
	counters := g.layout.counters()
	many := counters >= manyCounters && used > had/saturationShare
	saturated := counted && d.now > 0 && counters >= saturationCounters && (d.full || now < g.trailUntil || many)
	d.now, d.next, d.lost, d.full = now, next, lost, false
	switch {
	case !saturated:
		if g.saturated.Load() {
			g.saturated.Store(false)
		}
		return
	case !d.armed:
		d.armed, d.seen = true, next
		if d.timer == nil {
			d.timer = time.AfterFunc(saturationLook, func() { g.cool() })
		} else {
			d.timer.Reset(saturationLook)
		}
	}
	g.saturated.Store(true)
}

// cool ends saturated mode unless callers still use slots at about the same rate.
func (g *generator) cool() {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := &g.saturation
	next := g.next.Load()
	if next >= 0 && next-d.seen > g.layout.counters()*saturationLook.Milliseconds()/saturationShare {
		d.seen = next
		d.timer.Reset(saturationLook)
		return
	}
	d.armed = false
	g.saturated.Store(false)
}
