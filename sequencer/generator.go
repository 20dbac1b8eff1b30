package sequencer

import (
	"math"
	"sync/atomic"
)

// A generator turns one attachment's grants into IDs.
//
// All IDs of a logical node form one line of slots: slot = milliseconds since
// the epoch times the counters of a millisecond, plus the counter. An ID is a
// slot number with the node bits put in between, so handing out IDs is handing
// out slot numbers, each once and in ascending order:
//
//	slots   ... | ms 7: 0 1 2 ... 1023 | ms 8: 0 1 2 ... 1023 | ...
//	                          ^ next: everything below was issued or skipped
//
// Invariant: next only grows, and each returned slot lies in the range that
// exactly one compare-and-swap consumed, so no slot is issued twice. Neither
// the clock nor the grants appear in that argument.
type generator struct {
	layout layout
	epoch  Tick // Unix ms
	id     AttachmentID
	node   NodeID
	start  int64 // the first slot this generator may issue

	rights atomic.Pointer[rights]
	// trailUntil is the cluster time up to which slots of the last trail
	// milliseconds may be used: it lies ahead only while callers have used
	// up a millisecond not long ago.
	trailUntil atomic.Int64
	_          [64]byte // keeps the two apart: next is written on every call
	// next is the next slot; the sign bit says that the generator was
	// stopped, and keeps the slot.
	next atomic.Int64
	_    [56]byte
}

// stoppedBit marks next once the logical node was given up.
const stoppedBit = math.MinInt64

// trail is how old a timestamp may be while callers ask for more IDs than there
// are, in ms. A sleep ends a millisecond late at best; without a trail the slots
// of that millisecond would be lost, and only spinning would get them all.
const trail Tick = 4

// outcome says what take could do.
type outcome int

const (
	taken     outcome = iota
	aheadTime         // the slot's millisecond has not begun yet
	noGrant           // no grant holds the slot's millisecond, or none the present
	stopped           // the logical node was given up
	exhausted         // the epoch has no milliseconds left
)

// newGenerator starts a generator whose first ID has a timestamp above after.
func newGenerator(def Definition, a Attachment, after Tick) *generator {
	g := &generator{layout: def.layout, epoch: def.epoch.UnixMilli(), id: a.ID, node: a.Node}
	first := max(a.Grant.From, after+1, g.epoch)
	g.start = min(first-g.epoch, maxOffset) * g.layout.counters()
	g.next.Store(g.start)
	g.rights.Store(newRights(nil).with(a.Grant, 0))
	return g
}

// take reserves up to n consecutive slots of one millisecond, given the
// cluster time now. With aheadTime, at is the timestamp that the next ID would
// have; with noGrant, it is one outside the grants, and the next grant that
// begins above it ends the wait.
func (g *generator) take(now Tick, n int) (slot int64, k int, at Tick, out outcome) {
	counters := g.layout.counters()
	low := g.first(now)
	for {
		next := g.next.Load()
		if next < 0 {
			return 0, 0, 0, stopped
		}
		slot = max(next, low)
		offset := slot / counters
		at = g.epoch + offset
		held := g.rights.Load()
		switch {
		case offset >= maxOffset:
			return 0, 0, at, exhausted
		case at > now && !held.hold(now):
			return 0, 0, now, noGrant // the grant lies ahead
		case at > now:
			g.trailUntil.Store(now + trail)
			return 0, 0, at, aheadTime
		case !held.hold(at):
			from, found := held.after(at)
			if !found || from > now {
				return 0, 0, at, noGrant
			}
			// The trail reached back into a gap; beyond it there is a grant.
			low = min(from-g.epoch, maxOffset) * counters
			continue
		}
		k = int(min(int64(n), (offset+1)*counters-slot))
		if g.next.CompareAndSwap(next, slot+int64(k)) {
			return slot, k, at, taken
		}
	}
}

// first returns the lowest slot that is fresh enough to be issued at now.
func (g *generator) first(now Tick) int64 {
	passed := now - g.epoch
	if now < g.trailUntil.Load() {
		passed -= trail
	}
	return min(max(passed, 0), maxOffset) * g.layout.counters()
}

// expand returns the ID of a slot.
func (g *generator) expand(slot int64) ID { return g.layout.expand(slot, g.node) }

// extend adds a grant and wakes everybody who waits for one.
func (g *generator) extend(grant Grant) {
	for {
		have := g.rights.Load()
		more := have.with(grant, g.lastUsed())
		if more == have {
			return
		}
		if g.rights.CompareAndSwap(have, more) {
			close(have.replaced)
			return
		}
	}
}

// stop ends the generator for good: no take that begins after stop returned,
// and none that is under way, succeeds. It returns the largest timestamp that
// was ever taken, returned to a caller or not yet, or 0.
func (g *generator) stop() Tick {
	g.next.Or(stoppedBit)
	return g.lastUsed()
}

// wake lets everybody who waits for a grant look again.
func (g *generator) wake() {
	have := g.rights.Load()
	for !g.rights.CompareAndSwap(have, newRights(have.grants)) {
		have = g.rights.Load()
	}
	close(have.replaced)
}

// lastUsed returns the largest timestamp taken so far, or 0.
func (g *generator) lastUsed() Tick {
	next := g.next.Load() &^ stoppedBit
	if next == g.start {
		return 0
	}
	return g.epoch + (next-1)/g.layout.counters()
}
