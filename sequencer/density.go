package sequencer

import (
	"time"

	"github.com/snowgrid/snowgrid/clustertime"
)

// density is how fast slots go. While callers take all there are, timestamps may be old
// (trail) and reading the cycle counter each time would cost as much as all the rest; and
// where a millisecond has very many, it would be the narrowest place long before. Then
// only each sixteenth slot asks. A timer ends that when the callers have gone.
type density struct {
	now   clustertime.Tick // of the last look in another millisecond
	next  int64            // at that look
	lost  int64            // ... and how many were lost
	full  bool             // all slots were used up since
	timer *time.Timer
	armed bool
	seen  int64 // next when the timer was set
}

const (
	// denseCounters is how many IDs a millisecond has where it costs much to ask for each.
	// Where it has fewer, each call asks: when the machine stands still, only one that had
	// just asked can have a timestamp older than the trail. manyCounters is from how many on
	// that matters before all are used.
	denseCounters = 1 << 13
	manyCounters  = 1 << 15
	// denseStride is which slots ask: those whose low bits are all set.
	denseStride = 15
	// denseShare is the part of the slots from which on they go densely: two
	// callers that both read the cycle counter get no more than half of all.
	denseShare = 3
	// trailShare is the part of the slots that callers may leave and still trail. Who takes
	// a little less than there is at times, because the processor is slower then, could
	// not make up for what it slept through.
	trailShare = 4
	// denseLook is how often it is checked that callers are there still.
	denseLook = time.Millisecond
)

// look notes how many slots went since the last look in another millisecond. Unless
// counted, no counter says how long that lasts, and every call is to look.
func (d *density) look(g *generator, now clustertime.Tick, counted bool) {
	if now <= d.now {
		return
	}
	next, lost := g.next.Load(), g.counts.lost.Load()
	used, had := next-d.next-(lost-d.lost), g.slotAt(now.Sub(d.now))
	if now < g.trailUntil && used > had-had/trailShare {
		g.trailUntil = now.Add(memory) // callers still ask for about all there is
	}
	counters := g.layout.counters()
	many := counters >= manyCounters && used > had/denseShare
	dense := counted && d.now > 0 && counters >= denseCounters && (d.full || now < g.trailUntil || many)
	d.now, d.next, d.lost, d.full = now, next, lost, false
	switch {
	case !dense:
		if g.dense.Load() {
			g.dense.Store(false)
		}
		return
	case !d.armed:
		d.armed, d.seen = true, next
		if d.timer == nil {
			d.timer = time.AfterFunc(denseLook, func() { g.cool() })
		} else {
			d.timer.Reset(denseLook)
		}
	}
	g.dense.Store(true)
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
	g.dense.Store(false)
}
