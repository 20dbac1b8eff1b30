package sequencer

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment/bridge"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/cycles"
	"github.com/snowgrid/snowgrid/internal/fork"
)

// A generator turns one attachment's grants into IDs.
//
// All IDs of a logical node form one line of slots: slot = milliseconds since the epoch times the
// counters per millisecond, plus the counter. An ID is a slot number with the node bits inserted,
// so issuing IDs means issuing slot numbers, each once and in ascending order:
//
//	slots   ... | ms 7: 0 1 2 ... 1023 | ms 8: 0 1 2 ... 1023 | ...
//	                          ^ next             ^ limit
//
// A slot is reserved by adding to next. It may be issued if it lies within the bounds low and
// limit, which were published after reading the clock and the grants: every slot between them is
// granted, and its millisecond has begun.
//
// Invariant: next only grows, and each reserved slot lies in the range that exactly one addition to
// it consumed, so no slot is issued twice. The argument does not involve the clock, the grants or
// the bounds.
type generator struct {
	layout layout
	line   line
	epoch  clustertime.Tick // Unix ms
	id     bridge.ID
	node   NodeID
	start  int64 // the first slot this generator may issue
	counts *counts

	rights atomic.Pointer[rights]
	failed atomic.Pointer[error] // of the last attempt to renew or replace it, nil after a success

	// The bounds. limit is stored after low, and loaded before it: a caller that loads a limit
	// beyond a gap between two grants also loads the low beyond it.
	limit atomic.Int64
	low   atomic.Int64
	// deadline is the cycle counter's value at the end of the last clock reading's millisecond. 0
	// sends every call to the clock.
	deadline atomic.Int64
	// perMilli holds the cycles per millisecond, 0 while unknown.
	perMilli atomic.Int64
	// saturated is set in saturated mode, while callers use up most of many slots per
	// millisecond: then only every sixteenth slot checks the clock.
	saturated atomic.Bool

	mu sync.Mutex // held to read the clock and to publish bounds
	// trailUntil is the cluster time up to which slots of the last trail milliseconds may be used:
	// it lies ahead only while callers have used up a millisecond within the last memory
	// milliseconds, or all slots available since then.
	trailUntil clustertime.Tick
	end        int64   // the first slot that was not issued, once it is stopped
	looked     reading // the newest clock reading
	pace       cycles.Pace
	saturation saturation

	// The space keeps the two apart: next is written on every call, and
	// processors fetch lines in pairs.
	_ [128]byte
	// next is the next slot. A set sign bit means that the generator was stopped; the other bits
	// keep the slot.
	next atomic.Int64
	_    [120]byte
}

// counts are one handle's totals over all its generators.
type counts struct {
	done atomic.Int64 // slots passed by the earlier generators
	lost atomic.Int64 // slots passed and not issued
}

// stoppedBit marks next once the logical node was released.
const stoppedBit = math.MinInt64

const (
	// trail is the maximum age of a timestamp while callers request more IDs than there are. A
	// sleep ends a millisecond late at best; without a trail the slots of that millisecond would be
	// lost, and only spinning would use them all.
	trail clustertime.Span = 4
	// memory is the time for which saturation is remembered. It has to be longer than the trail: on
	// a busy machine a quarter of all waits end 4 ms late or later, and the trail matters most
	// after such waits.
	memory clustertime.Span = 50
)

// outcome classifies the result of take.
type outcome int

const (
	taken     outcome = iota
	aheadTime         // the slot's millisecond has not begun yet
	noGrant           // no grant contains the slot's millisecond, or none the present
	stopped           // the logical node was released
	exhausted         // the epoch has no milliseconds left
	nodeless          // the logical node went to another holder, and was not replaced yet
	copied            // this process is the child of a fork
)

// newGenerator starts a generator whose first ID has a timestamp above after.
func newGenerator(def Definition, a attachment, after clustertime.Tick, c *counts) *generator {
	g := &generator{layout: def.layout, line: def.layout.line(a.Node), epoch: def.start(), id: a.ID,
		node: a.Node, counts: c}
	first := max(a.Grant.From, after+1, g.epoch)
	g.start = g.slotAt(min(first.Sub(g.epoch), g.layout.end()))
	g.next.Store(g.start)
	g.rights.Store(newRights(nil).with(a.Grant, 0))
	return g
}

type reading struct {
	now    clustertime.Tick
	lasts  time.Duration // the millisecond lasts at least so long; 0 if unknown
	mono   time.Duration // the monotonic clock
	cycles int64         // the cycle counter, before
	after  int64         // and after
}

func read(c bridge.Clock) reading {
	r := reading{cycles: cycles.Now()}
	r.now, r.lasts, r.mono = c.Read()
	r.after = cycles.Now()
	return r
}

// before reports whether a reading was earlier than another one.
func (r reading) before(o reading) bool {
	return r.now < o.now || r.now == o.now && r.cycles < o.cycles
}

// took is the result of take, with the slots.
type took struct {
	slot int64 // the first of k that may be issued
	k    int
	at   clustertime.Tick
	// kept is a slot that the caller has reserved and may not issue yet, negative
	// for none.
	kept int64
	out  outcome
}

// take reserves up to n consecutive slots of one millisecond, given a clock reading; held is a slot
// that the caller has kept from before, negative for none. With aheadTime, at is the timestamp of
// the next ID; a caller that will wait for it keeps a slot of the next millisecond, so that other
// callers cannot overtake it indefinitely. With noGrant, at is a timestamp outside the grants, and
// the next grant that begins above it ends the wait.
func (g *generator) take(r reading, n int, held int64, waits bool) took {
	if fork.Copied() { // the lock may be held by a thread that the copy does not have
		return took{kept: -1, out: copied}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	counters := g.layout.counters()
	low := g.first(r.now)
	for {
		next := g.next.Load()
		if next < 0 {
			g.drop(held)
			return took{kept: -1, out: stopped}
		}
		if held >= 0 && held < low {
			g.drop(held) // its millisecond is past
			held = -1
		}
		slot := max(next, low)
		if held >= 0 {
			slot = held
		}
		offset := clustertime.Span(slot / counters)
		at := g.epoch.Add(offset)
		have := g.rights.Load()
		switch {
		case offset >= g.layout.end():
			g.drop(held)
			return took{at: at, kept: -1, out: exhausted}
		case at > r.now && !have.hold(r.now):
			g.close()
			return took{at: r.now, kept: held, out: noGrant} // the grant lies ahead
		case at > r.now:
			switch {
			case !r.before(g.looked): // else its millisecond may have ended
				g.markFull(r.now)
			case r.cycles > g.looked.cycles: // the clock went back, not this caller
				g.close()
			}
			if waits && held < 0 && at == r.now+1 && have.hold(at) {
				if !g.next.CompareAndSwap(next, slot+1) {
					continue
				}
				held = slot
			}
			return took{at: at, kept: held, out: aheadTime}
		case !have.hold(at):
			from, found := have.after(at)
			if !found || from > r.now {
				g.close()
				return took{at: at, kept: held, out: noGrant}
			}
			// The trail reached back into a gap; a grant lies beyond it.
			low = g.slotAt(min(from.Sub(g.epoch), g.layout.end()))
			continue
		}
		k := 1
		if held < 0 {
			k = int(min(int64(n), g.slotAt(offset+1)-slot))
			if !g.next.CompareAndSwap(next, slot+int64(k)) {
				continue
			}
			g.counts.lost.Add(slot - next)
		}
		g.publish(r, have.around(at))
		return took{slot: slot, k: k, at: at, kept: -1, out: taken}
	}
}

// drop gives up a reserved slot, which is then never issued.
func (g *generator) drop(slot int64) {
	if slot >= 0 {
		g.counts.lost.Add(1)
	}
}

// first returns the lowest slot that is fresh enough to be issued at now.
func (g *generator) first(now clustertime.Tick) int64 {
	passed := now.Sub(g.epoch)
	if now < g.trailUntil {
		passed -= trail
	}
	return g.slotAt(min(max(passed, 0), g.layout.end()))
}

// slotAt returns the first slot of the millisecond that begins offset after the epoch.
func (g *generator) slotAt(offset clustertime.Span) int64 {
	return int64(offset) * g.layout.counters()
}

// markFull records that all slots up to now are used up.
func (g *generator) markFull(now clustertime.Tick) {
	g.trailUntil = now.Add(memory)
	g.saturation.full = true
	g.close()
}

// close prevents reservations without a clock reading until a caller has got a slot by one.
// Otherwise callers that fail repeatedly would drive the slots ahead of time.
func (g *generator) close() {
	g.deadline.Store(0)
	g.saturated.Store(false)
}

func (g *generator) expand(slot int64) ID { return g.line.expand(slot) }

// fill writes the IDs of consecutive slots. IDs of one millisecond are consecutive, too.
func (g *generator) fill(dst []ID, slot int64) {
	for len(dst) > 0 {
		n := min(int64(len(dst)), g.line.mask+1-slot&g.line.mask)
		now, id := dst[:n], g.expand(slot)
		// Four at a time: counting would cost more than writing.
		for ; len(now) >= 4; now, id = now[4:], id+4 {
			four := (*[4]ID)(now)
			four[0], four[1], four[2], four[3] = id, id+1, id+2, id+3
		}
		for i := range now {
			now[i] = id + ID(i)
		}
		dst, slot = dst[n:], slot+n
	}
}

// extend adds a grant and wakes all callers that wait for one.
func (g *generator) extend(grant bridge.Grant) {
	g.failed.Store(nil)
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

// stop ends the generator permanently: no slot is reserved after stop has returned, and a reserved
// slot is issued only if stop counts it. It returns the largest timestamp that was taken, whether
// or not a caller has its ID yet, or 0.
func (g *generator) stop() clustertime.Tick {
	g.mu.Lock() // no limit is published from here on
	defer g.mu.Unlock()
	if next := g.next.Or(stoppedBit); next >= 0 {
		g.end = min(next, g.limit.Load())
		g.counts.done.Add(next - g.start)
	}
	return g.timestamp(g.end)
}

// wake makes all callers that wait for a grant check again.
func (g *generator) wake() { g.refuse(nil) }

// refuse records cause as the reason for the missing grant, until the next grant, and makes all
// callers that wait for one check again.
func (g *generator) refuse(cause error) {
	for {
		have := g.rights.Load()
		next := newRights(have.grants)
		next.refused = cause
		if g.rights.CompareAndSwap(have, next) {
			close(have.replaced)
			return
		}
	}
}

// lastUsed returns the largest timestamp taken so far, or 0.
func (g *generator) lastUsed() clustertime.Tick {
	next := g.next.Load()
	if next < 0 {
		return g.stop() // already stopped: returns the last timestamp used
	}
	// Slots beyond the limit are reserved and not issued.
	return g.timestamp(min(next, g.limit.Load()))
}

// timestamp returns the last slot's timestamp below end, or 0.
func (g *generator) timestamp(end int64) clustertime.Tick {
	if end <= g.start {
		return 0
	}
	return g.epoch.Add(clustertime.Span((end - 1) / g.layout.counters()))
}
