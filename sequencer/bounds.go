package sequencer

import (
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment/bridge"
	"github.com/snowgrid/snowgrid/internal/cycles"
	"github.com/snowgrid/snowgrid/internal/fork"
)

// measuredPace is the number of cycles per millisecond, from the newest measurement of any
// generator in this process. All share it, because the counter is the same and a measurement takes
// 40 ms.
var measuredPace atomic.Int64

// Between two clock readings, callers reserve slots by adding to next, for as long as the
// millisecond of the last reading lasts.

// reserve takes the next slot. If ok is false, the slot may not be issued yet; the caller
// keeps it and passes it to take.
func (g *generator) reserve() (slot int64, ok bool) {
	slot = g.next.Add(1) - 1
	return slot, g.holds(slot)
}

// quick takes the next slot if that needs no clock reading. A slot that is not ok and not
// negative still belongs to the caller, as with reserve.
func (g *generator) quick() (slot int64, ok bool) {
	saturated := g.saturated.Load()
	if !saturated && !g.fresh() {
		return -1, false
	}
	if slot, ok = g.reserve(); !ok || !saturated || !checksClock(slot) {
		return slot, ok
	}
	if !g.fresh() {
		return slot, false
	}
	g.backOff(slot)
	return slot, true
}

// checksClock reports whether a slot checks the clock even in saturated mode.
func checksClock(slot int64) bool { return slot&saturationStride == saturationStride }

// contended reports whether another caller has added since the slot was reserved.
func (g *generator) contended(slot int64) bool { return g.next.Load() != slot+1 }

// pause is the back-off's length in cycle counter readings: about two
// microseconds on amd64, more where a reading takes longer. It is not a time, because a
// counter may not advance.
const pause = 200

// backOff keeps a caller away from the counter for a short time if other callers contend for it.
// Two processors that add to it in turn wait for it each time, and together get fewer slots than
// one alone.
func (g *generator) backOff(slot int64) {
	if !g.contended(slot) {
		return
	}
	for range pause {
		cycles.Now()
	}
}

// holds reports whether a slot lies within the bounds. A stopped generator's slots are negative and
// lie below them. In a copy of the process, no slot is within the bounds.
func (g *generator) holds(slot int64) bool {
	return slot < g.limit.Load() && slot >= g.low.Load() && !fork.Copied()
}

// reserveMany takes up to n consecutive slots, or none. Slots that it cannot use are lost.
func (g *generator) reserveMany(n int) (slot int64, k int) {
	if !g.fresh() || fork.Copied() {
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
	if held < more { // another caller was faster
		g.counts.lost.Add(more - held)
	}
	return slot, int(held)
}

// within returns the number of usable slots among the n that start at slot. It loads the limit
// once: under a later limit, slots in a gap between two grants would seem usable.
func (g *generator) within(slot, n int64) int64 {
	limit := g.limit.Load()
	if slot >= limit || slot < g.low.Load() {
		return 0
	}
	return min(n, limit-slot)
}

// fresh reports whether the millisecond of the last clock reading still lasts. It is false if the
// counter is far from its last value.
func (g *generator) fresh() bool {
	return uint64(g.deadline.Load()-cycles.Now()) < uint64(g.perMilli.Load())
}

// publish sets the bounds after a clock reading: from the beginning of a grant to the end of this
// millisecond, or to the grant's end if that is earlier.
func (g *generator) publish(r reading, grant bridge.Grant) {
	limit := g.slotAt(min(r.now+1, grant.Until, g.epoch.Add(g.layout.end())).Sub(g.epoch))
	if limit > g.limit.Load() {
		g.low.Store(max(g.low.Load(), g.slotAt(grant.From.Sub(g.epoch))))
		g.limit.Store(limit)
	}
	if r.before(g.looked) {
		return // another caller read the clock while this one waited for the lock
	}
	g.looked = r
	counted := r.lasts > 0 && cycles.Constant()
	g.saturation.look(g, r.now, counted)
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
