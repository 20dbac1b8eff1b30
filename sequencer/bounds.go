package sequencer

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/cycles"
)

// How slots are handed out between two looks at the clock: by adding to next, as
// long as the millisecond of the last look lasts.

// reserve takes the next slot without a look at the clock. If it is not ok, the slot
// is kept for the caller all the same, to be given to take; a negative one is none.
func (g *generator) reserve() (slot int64, ok bool) {
	stride := g.stride.Load()
	if stride == 0 && !g.fresh() {
		return -1, false
	}
	slot = g.next.Add(1) - 1
	if !g.holds(slot) {
		return slot, false
	}
	return slot, stride == 0 || slot&stride != stride || g.fresh()
}

// reserveMany takes up to n consecutive slots, or none. What it cannot use is lost.
func (g *generator) reserveMany(n int) (slot int64, k int) {
	if !g.fresh() {
		return 0, 0
	}
	more := min(int64(n), g.limit.Load()-g.next.Load())
	if more <= 0 {
		return 0, 0
	}
	slot = g.next.Add(more) - more
	if slot < 0 { // it was stopped
		return 0, 0
	}
	held := g.within(slot, more)
	g.counts.lost.Add(more - held) // the others, if somebody else was faster
	return slot, int(held)
}

// within returns how many of n slots from one on lie within the bounds. It looks at
// the limit once: by a later one, slots of a gap in the middle would be below it.
func (g *generator) within(slot, n int64) int64 {
	limit := g.limit.Load()
	if slot >= limit || slot < g.low.Load() {
		return 0
	}
	return min(n, limit-slot)
}

// holds reports whether a slot lies within the bounds. As a number without a sign a
// negative slot, which is of a stopped generator, lies beyond every limit.
func (g *generator) holds(slot int64) bool {
	return uint64(slot) < uint64(g.limit.Load()) && slot >= g.low.Load()
}

// fresh reports whether the millisecond of the last look at the clock still lasts. A
// counter that is far from where it was says no.
func (g *generator) fresh() bool {
	return uint64(g.deadline.Load()-cycles.Now()) < uint64(g.perMilli.Load())
}

// publish sets the bounds after a look at the clock: from the beginning of a grant to
// the end of this millisecond, or of the grant.
func (g *generator) publish(r reading, grant Grant) {
	counters := g.layout.counters()
	limit := min(r.now+1, grant.Until, g.epoch+maxOffset) - g.epoch
	if limit *= counters; limit > g.limit.Load() {
		g.low.Store(max(g.low.Load(), (grant.From-g.epoch)*counters))
		g.limit.Store(limit)
	}
	g.density.look(g, r.now)
	if r.now >= grant.Until || r.lasts <= 0 {
		g.deadline.Store(0)
		return
	}
	lasts := min(r.lasts, time.Millisecond)
	g.pace.Reading(r.cycles, time.Duration(r.now+1)*time.Millisecond-lasts)
	g.perMilli.Store(g.pace.PerMilli())
	g.deadline.Store(r.cycles + int64(lasts)*g.perMilli.Load()/int64(time.Millisecond))
}

// density is how fast slots go. While most are used, several callers share a counter
// that reading the cycle counter each time would make the narrowest place; then only
// each eighth slot asks. A timer ends that when the callers have gone.
type density struct {
	now   Tick  // of the last look in another millisecond
	next  int64 // at that look
	lost  int64 // ... and how many were lost
	full  bool  // all slots were used up since
	timer *time.Timer
	armed bool
	seen  int64 // next when the timer was set
}

const (
	// denseCounters is from how many IDs a millisecond that matters.
	denseCounters = 1 << 15
	// denseStride is which slots ask: those whose low bits are all set.
	denseStride = 7
	// denseShare is the part of the slots from which on they go densely: two
	// callers that both read the cycle counter get no more than half of all.
	denseShare = 3
	// denseLook is how often it is checked that callers are there still.
	denseLook = 2 * time.Millisecond
)

// look notes how many slots went since the last look in another millisecond.
func (d *density) look(g *generator, now Tick) {
	if now <= d.now {
		return
	}
	next, lost := g.next.Load(), g.counts.lost.Load()
	used, had := next-d.next-(lost-d.lost), (now-d.now)*g.layout.counters()
	if now < g.trailUntil && used >= had {
		g.trailUntil = now + trail // callers still ask for all there is
	}
	dense := g.layout.counters() >= denseCounters && d.now > 0 && (d.full || used > had/denseShare)
	d.now, d.next, d.lost, d.full = now, next, lost, false
	switch {
	case !dense:
		g.stride.Store(0)
		return
	case !d.armed:
		d.armed, d.seen = true, next
		if d.timer == nil {
			d.timer = time.AfterFunc(denseLook, func() { g.cool() })
		} else {
			d.timer.Reset(denseLook)
		}
	}
	g.stride.Store(denseStride)
}

// cool ends dense handing out unless about as many slots as before go.
func (g *generator) cool() {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := &g.density
	next := g.next.Load()
	if next >= 0 && next-d.seen > g.layout.counters()*denseLook.Milliseconds()/denseShare {
		d.seen = next
		d.timer.Reset(denseLook)
		return
	}
	d.armed = false
	g.stride.Store(0)
}
