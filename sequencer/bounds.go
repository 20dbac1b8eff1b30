package sequencer

import (
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/internal/cycles"
)

// measuredPace is how many cycles a millisecond has by the newest measurement of any
// generator of this process. The counter is the same for all, and measuring takes 40 ms.
var measuredPace atomic.Int64

// How slots are handed out between two looks at the clock: by adding to next, as
// long as the millisecond of the last look lasts.

// reserve takes the next slot. One that is not ok may not be issued yet, and is kept for
// the caller, to be given to take.
func (g *generator) reserve() (slot int64, ok bool) {
	slot = g.next.Add(1) - 1
	return slot, g.holds(slot)
}

// quick takes the next slot if that needs no look at the clock. One that is not ok and
// not negative is the caller's all the same, as of reserve.
func (g *generator) quick() (slot int64, ok bool) {
	dense := g.dense.Load()
	if !dense && !g.fresh() {
		return -1, false
	}
	if slot, ok = g.reserve(); !ok || !dense || !asks(slot) {
		return slot, ok
	}
	if !g.fresh() {
		return slot, false
	}
	g.backOff(slot)
	return slot, true
}

// asks reports whether a slot asks even where they go densely.
func asks(slot int64) bool { return slot&denseStride == denseStride }

// contended reports whether somebody has added since the slot was reserved.
func (g *generator) contended(slot int64) bool { return g.next.Load() != slot+1 }

// pause is how many readings of the cycle counter a caller that backs off lasts: about two
// microseconds on amd64, more where reading takes longer. It is no time to wait for, since
// a counter may stand still.
const pause = 200

// backOff has a caller leave the counter to others for a while if they contend for it. Two
// processors that add to it in turn wait for it each time, and get fewer slots together
// than one of them alone.
func (g *generator) backOff(slot int64) {
	if !g.contended(slot) {
		return
	}
	for range pause {
		cycles.Now()
	}
}

// holds reports whether a slot lies within the bounds; a negative one, which is of a
// stopped generator, lies below them.
func (g *generator) holds(slot int64) bool { return slot < g.limit.Load() && slot >= g.low.Load() }

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
	if held < more { // somebody else was faster
		g.counts.lost.Add(more - held)
	}
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

// fresh reports whether the millisecond of the last look at the clock still lasts. A
// counter that is far from where it was says no.
func (g *generator) fresh() bool {
	return uint64(g.deadline.Load()-cycles.Now()) < uint64(g.perMilli.Load())
}

// publish sets the bounds after a look at the clock: from the beginning of a grant to
// the end of this millisecond, or of the grant.
func (g *generator) publish(r reading, grant Grant) {
	limit := g.slotAt(min(r.now+1, grant.Until, g.epoch.Add(maxOffset)).Sub(g.epoch))
	if limit > g.limit.Load() {
		g.low.Store(max(g.low.Load(), g.slotAt(grant.From.Sub(g.epoch))))
		g.limit.Store(limit)
	}
	if r.before(g.looked) {
		return // its caller waited for the lock while somebody else looked
	}
	g.looked = r
	counted := r.lasts > 0 && cycles.Constant()
	g.density.look(g, r.now, counted)
	if r.now >= grant.Until || !counted {
		g.deadline.Store(0)
		return
	}
	lasts := min(r.lasts, time.Millisecond)
	if g.pace.Note(cycles.Reading{Before: r.cycles, After: r.after, At: r.mono}) {
		measuredPace.Store(g.pace.PerMilli())
	}
	pace := measuredPace.Load()
	if g.perMilli.Load() != pace {
		g.perMilli.Store(pace)
	}
	g.deadline.Store(r.cycles + int64(lasts)*pace/int64(time.Millisecond))
}
