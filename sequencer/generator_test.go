package sequencer

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/attachment/bridge"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/cycles"
)

// define returns a definition from epoch 1000.
func define(t testing.TB, nodes int) Definition {
	t.Helper()
	def, err := Define("orders", Config{Nodes: nodes, Epoch: epoch.UnixMilli(1000)})
	if err != nil {
		t.Fatal(err)
	}
	return def
}

// taker takes slots of one generator, at a cluster time that the test moves, and holds
// what it gets against the rules.
type taker struct {
	g      *generator
	bits   int // of a counter
	now    clustertime.Tick
	held   []bridge.Grant
	last   int64
	lastAt clustertime.Tick
	looked clustertime.Tick // the time of the last look that found slots
	kept   int64            // a slot reserved and not issued
	full   clustertime.Tick // when the slots had run out last, or as many had gone as there were
	turned clustertime.Tick // the last look in another millisecond that found slots
	went   int64            // slots issued since
}

// issued checks slots that may be issued, of which the youngest may be is at least fresh.
func (w *taker) issued(rt *rapid.T, slot int64, k int, fresh clustertime.Tick) {
	end := slot + int64(k) - 1
	at := clustertime.Tick(1000 + slot>>w.bits)
	if slot <= w.last || k < 1 || slot>>w.bits != end>>w.bits {
		rt.Fatalf("slots %d to %d after %d", slot, end, w.last)
	}
	if at > w.now || at < fresh.Add(-trail) || at < fresh && w.now.Sub(w.full) >= memory &&
		w.looked.Sub(w.full) >= memory {
		rt.Fatalf("at %d a timestamp %d; the slots had run out at %d", w.now, at, w.full)
	}
	if !anyHolds(w.held, at) {
		rt.Fatalf("%d lies outside %v", at, w.held)
	}
	w.last, w.lastAt = end, at
	w.went += int64(k)
}

// add takes a slot without a reading of the clock, if possible.
func (w *taker) add(rt *rapid.T) {
	if w.kept >= 0 {
		return // a caller with a kept slot reads the clock first
	}
	slot, ok := w.g.quick()
	switch {
	case ok:
		w.issued(rt, slot, 1, w.looked)
	default:
		w.kept = slot
	}
}

// look takes slots after a look at the clock, with the one that is kept first.
func (w *taker) look(rt *rapid.T, n int, waits bool) {
	kept := w.kept
	t := w.g.take(reading{now: w.now, lasts: time.Millisecond, cycles: cycles.Now()}, n, kept, waits)
	w.kept = t.kept
	switch t.out {
	case taken:
		if t.k > n || t.at != clustertime.Tick(1000+t.slot>>w.bits) {
			rt.Fatalf("%+v, %d wanted", t, n)
		}
		if w.g.deadline.Load() != 0 { // the millisecond lasts as long as the test likes
			w.g.perMilli.Store(1 << 40)
			w.g.deadline.Store(cycles.Now() + 1<<39)
		}
		w.looked = w.now
		w.issued(rt, t.slot, t.k, w.now)
		if w.now > w.turned {
			if w.went > int64(w.now.Sub(w.turned))<<w.bits*3/4 {
				w.full = w.now
			}
			w.turned, w.went = w.now, 0
		}
	case aheadTime:
		if t.at != w.now+1 || kept < 0 && w.lastAt != w.now || !anyHolds(w.held, w.now) {
			rt.Fatalf("at %d wants to wait for %d, having used %d of %v", w.now, t.at, w.lastAt, w.held)
		}
		if kept < 0 && t.kept >= 0 && (!waits || t.kept <= w.last || clustertime.Tick(1000+t.kept>>w.bits) != w.now+1 ||
			!anyHolds(w.held, w.now+1)) {
			rt.Fatalf("at %d keeps slot %d after %d of %v", w.now, t.kept, w.last, w.held)
		}
		w.full = w.now
	case noGrant:
		if anyHolds(w.held, w.now) && w.lastAt < w.now && kept < 0 {
			rt.Fatalf("at %d no grant, but %v", w.now, w.held)
		}
	default:
		rt.Fatalf("outcome %d", t.out)
	}
}

// pace is that of this processor's counter, by a clock that is ahead of every test's.
var pace = sync.OnceValue(func() (p cycles.Pace) {
	for began := time.Now(); p.PerMilli() == 0 && cycles.Constant(); {
		r := cycles.Reading{Before: cycles.Now(), At: time.Since(began) + time.Hour}
		r.After = cycles.Now()
		p.Note(r)
	}
	return p
})

// calibrated has a generator know the pace of the cycle counter from the beginning, if
// it has one: else every call looks at the clock.
func calibrated(g *generator) {
	g.pace = pace()
	g.perMilli.Store(g.pace.PerMilli())
	measuredPace.Store(g.pace.PerMilli())
}

// TestGeneratorProperties gives a generator grants with gaps between them and
// takes at random moments, after a look at the clock or without. What it takes
// ascends, lies in the grants, never ahead of time, and behind it by the trail at
// most, and then only while callers are faster than the slots.
func TestGeneratorProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		first := bridge.Grant{From: 1000, Until: clustertime.Tick(1000 + rapid.Int64Range(0, 9).Draw(rt, "length"))}
		bits := rapid.SampledFrom([]int{10, 13}).Draw(rt, "bits") // where each call checks the clock, and where few do
		w := &taker{
			g:    newGenerator(define(t, 1<<(23-bits)), attachment{Node: 5, Grant: first}, 0, new(counts)),
			bits: bits, now: 1000, held: []bridge.Grant{first}, last: -1, kept: -1, full: math.MinInt64 / 2,
		}
		for range rapid.IntRange(1, 80).Draw(rt, "steps") {
			w.now += rapid.SampledFrom([]clustertime.Tick{0, 0, 0, 1, 1, 2, 7}).Draw(rt, "elapsed")
			if rapid.IntRange(0, 7).Draw(rt, "renewed") == 0 {
				from := max(w.now, w.held[len(w.held)-1].Until) + clustertime.Tick(rapid.Int64Range(-3, 5).Draw(rt, "from"))
				more := bridge.Grant{From: from, Until: from + clustertime.Tick(rapid.Int64Range(0, 12).Draw(rt, "length"))}
				w.held = append(w.held, more)
				w.g.extend(more)
			}
			if rapid.Bool().Draw(rt, "by adding") {
				w.add(rt)
			} else {
				w.look(rt, rapid.SampledFrom([]int{1, 3, 700, 5000}).Draw(rt, "n"), rapid.Bool().Draw(rt, "waits"))
			}
			if used := w.g.lastUsed(); used != w.lastAt {
				rt.Fatalf("last used %d instead of %d", used, w.lastAt)
			}
		}
	})
}

func anyHolds(grants []bridge.Grant, at clustertime.Tick) bool {
	for _, g := range grants {
		if g.Holds(at) {
			return true
		}
	}
	return false
}

// TestAdjacentNodesShareNoID: two neighbours use up a millisecond, and a bit of
// the next one. Every counter occurs, and none reaches the node's bits.
func TestAdjacentNodesShareNoID(t *testing.T) {
	for nodes := 128; nodes <= 8192; nodes *= 2 {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			def := define(t, nodes)
			counters := 1 << 23 / nodes
			seen := make(map[ID]bool, 2*counters)
			for _, node := range []NodeID{NodeID(nodes - 2), NodeID(nodes - 1)} {
				g := newGenerator(def, attachment{Node: node, Grant: bridge.Grant{From: 1007, Until: 2000}}, 0, new(counts))
				for i := range counters + 3 {
					now := clustertime.Tick(1007 + i/counters)
					slot, _, _, out := takeAt(g, now, 1)
					if out != taken {
						t.Fatalf("ID %d of %d: outcome %d", i, counters, out)
					}
					id := g.expand(slot)
					p := def.Decompose(id)
					if clustertime.TickOf(p.Time) != now || p.Node != node || int(p.Counter) != i%counters || seen[id] {
						t.Fatalf("ID %d of node %d is %+v, seen before: %v", i, node, p, seen[id])
					}
					seen[id] = true
				}
			}
		})
	}
}

// TestTrail: a caller that uses everything up and sleeps too long gets the slots
// it slept through, of the last four milliseconds, unless it sleeps for longer than
// saturation is remembered; one that does not use everything up gets none.
func TestTrail(t *testing.T) {
	for _, c := range []struct {
		use, sleep int
		want       clustertime.Tick
	}{
		{1024, 1, 2001}, // in time
		{1024, 2, 2001},
		{1024, 3, 2001},
		{1024, 4, 2001},
		{1024, 5, 2001},
		{1024, 6, 2002}, // older than the trail is deep: two milliseconds are lost
		{1024, 49, 2045},
		{1024, 50, 2050}, // so long that no caller was waiting
		{1023, 2, 2002},  // not used up
	} {
		g := newGenerator(define(t, 8192), attachment{Grant: bridge.Grant{From: 1000, Until: 9000}}, 0, new(counts))
		takeAt(g, 2000, c.use)
		if c.use == 1024 {
			takeAt(g, 2000, 1) // there is none left
		}
		if _, _, at, out := takeAt(g, 2000+clustertime.Tick(c.sleep), 1); out != taken || at != c.want {
			t.Errorf("%d slots used and %d ms slept: %d, outcome %d, want %d", c.use, c.sleep, at, out, c.want)
		}
	}
}

// TestTrailLasts: once slots have run out, callers trail for as long as they take more than
// three quarters of them, and for as long as that is remembered.
func TestTrailLasts(t *testing.T) {
	for _, c := range []struct {
		each   int // slots used in a millisecond
		behind bool
	}{
		{1024, true},
		{769, true},
		{768, false},
		{100, false},
	} {
		g := newGenerator(define(t, 8192), attachment{Grant: bridge.Grant{From: 1000, Until: 9000}}, 0, new(counts))
		takeAt(g, 2000, 1024)
		takeAt(g, 2000, 1) // there is none left
		var at, now clustertime.Tick
		for now = 2002; now < 2100; now++ {
			for range c.each {
				_, _, at, _ = takeAt(g, now, 1)
			}
		}
		if now--; at < now != c.behind {
			t.Errorf("%d slots a millisecond: at %d the timestamp is %d", c.each, now, at)
		}
	}
}

// TestWaitingCallerKeepsItsSlot: a caller that waits for the next millisecond has a slot of it, which no later
// caller takes. No slot is kept of a millisecond after that.
func TestWaitingCallerKeepsItsSlot(t *testing.T) {
	g := newGenerator(define(t, 8192), attachment{Grant: bridge.Grant{From: 1000, Until: 2002}}, 0, new(counts))
	wait := func(now clustertime.Tick, waits bool) int64 {
		got := g.take(reading{now: now}, 1, -1, waits)
		if got.out != aheadTime {
			t.Fatalf("at %d: %+v", now, got)
		}
		return got.kept
	}
	first, _, _, _ := takeAt(g, 2000, 1024)
	after := first + 1024
	if got := wait(2000, false); got >= 0 {
		t.Errorf("who does not wait keeps slot %d", got)
	}
	for i := range int64(1024) {
		if got := wait(2000, true); got != after+i {
			t.Fatalf("caller %d waits for slot %d instead of %d", i, got, after+i)
		}
	}
	if got := wait(2000, true); got >= 0 {
		t.Errorf("slot %d is kept, which is two milliseconds ahead", got)
	}
	if got := g.take(reading{now: 2001}, 1, after+7, true); got.out != taken || got.slot != after+7 || got.at != 2001 {
		t.Errorf("of slot %d came %+v", after+7, got)
	}
	if got := wait(2001, true); got >= 0 {
		t.Errorf("slot %d is kept, which no grant holds", got)
	}
}

// TestFewSlotsAlwaysCheckTheClock: with few slots per millisecond each call checks the clock, also
// when they run out, so that a stall of the machine makes no timestamp old.
func TestFewSlotsAlwaysCheckTheClock(t *testing.T) {
	for nodes, saturated := range map[int]bool{8192: false, 2048: false, 1024: true, 128: true} {
		g := newGenerator(define(t, nodes), attachment{Grant: bridge.Grant{From: 1000, Until: 9000}}, 0, new(counts))
		calibrated(g)
		all := 1 << 23 / nodes
		for now := clustertime.Tick(2000); now < 2010; now++ {
			for range 2 { // the second time there is none left
				g.take(reading{now: now, lasts: time.Millisecond, cycles: cycles.Now()}, all, -1, false)
			}
		}
		g.take(reading{now: 2011, lasts: time.Millisecond, cycles: cycles.Now()}, all, -1, false)
		if got := g.saturated.Load(); got != (saturated && cycles.Constant()) {
			t.Errorf("%d nodes: saturated mode is %v", nodes, got)
		}
	}
}

// TestFailingCallersDoNotAdvanceSlots: callers that fail for want of a grant or of time, again and
// again, do not drive the slots ahead of time, although saturated mode was on before. The time
// may also have gone back, as that of another grid.
func TestFailingCallersDoNotAdvanceSlots(t *testing.T) {
	for now, out := range map[clustertime.Tick]outcome{2003: noGrant, 1999: aheadTime, 1500: noGrant} {
		g := newGenerator(define(t, 1024), attachment{Grant: bridge.Grant{From: 1999, Until: 2002}}, 0, new(counts))
		takeAt(g, 2000, 8192)
		takeAt(g, 2000, 1) // there is none left
		late := reading{now: 2003, lasts: time.Millisecond, cycles: cycles.Now()}
		if got := g.take(late, 8192, -1, false); got.out != taken || got.k != 8192 || got.at != 2001 {
			t.Fatalf("slots of the missed millisecond: %+v", got)
		}
		if g.saturated.Load() != cycles.Constant() {
			t.Fatal("saturated mode was not reached")
		}
		end := g.next.Load()
		for range 1000 {
			slot, ok := g.quick()
			if got := g.take(reading{now: now, lasts: time.Millisecond, cycles: cycles.Now()}, 1, slot, false); ok ||
				got.out != out {
				t.Fatalf("slot %d, %v, then %+v", slot, ok, got)
			}
		}
		if more := g.next.Load() - end; more > 1 {
			t.Errorf("at %d a thousand calls in vain added %d slots", now, more)
		}
	}
}

// TestTrailSkipsGap: the trail reaches back behind a grant's end; the wait must
// not be for a grant that is there.
func TestTrailSkipsGap(t *testing.T) {
	g := newGenerator(define(t, 8192), attachment{Grant: bridge.Grant{From: 2000, Until: 2001}}, 0, new(counts))
	takeAt(g, 2000, 1024)
	g.extend(bridge.Grant{From: 2003, Until: 2010})
	for _, c := range []struct {
		now, at clustertime.Tick
		out     outcome
	}{{2000, 2001, aheadTime}, {2001, 2001, noGrant}, {2002, 2001, noGrant}, {2003, 2003, taken}} {
		if _, _, at, out := takeAt(g, c.now, 1); at != c.at || out != c.out {
			t.Errorf("at %d: %d, outcome %d; want %d, %d", c.now, at, out, c.at, c.out)
		}
	}
}

// TestNewAttachmentStartsAboveTheLast: above the handle's last timestamp, inside
// the grant, not before the epoch.
func TestNewAttachmentStartsAboveTheLast(t *testing.T) {
	for _, c := range []struct{ from, after, want clustertime.Tick }{
		{2000, 0, 2000}, {2000, 1999, 2000}, {2000, 2000, 2001}, {2000, 2500, 2501}, {10, 0, 1000},
	} {
		g := newGenerator(define(t, 128), attachment{Grant: bridge.Grant{From: c.from, Until: 9000}}, c.after, new(counts))
		if slot, _, at, out := takeAt(g, c.want, 1); out != taken || at != c.want || slot != int64(c.want-1000)<<16 {
			t.Errorf("grant from %d after %d: slot %d at %d, outcome %d", c.from, c.after, slot, at, out)
		}
		if c.want > 1000 {
			g = newGenerator(define(t, 128), attachment{Grant: bridge.Grant{From: c.from, Until: 9000}}, c.after, new(counts))
			if _, _, _, out := takeAt(g, c.want-1, 1); out == taken {
				t.Errorf("grant from %d after %d: taken a millisecond early", c.from, c.after)
			}
		}
	}
}

// TestEpochEnds: the last millisecond is used to its last counter; nothing wraps
// however late it is.
func TestEpochEnds(t *testing.T) {
	end := clustertime.Tick(1000 + 1<<40)
	g := newGenerator(define(t, 8192), attachment{Node: 8191, Grant: bridge.Grant{From: end - 10, Until: end + 100}}, 0,
		new(counts))
	slot, k, at, out := takeAt(g, end-1, 5000)
	if out != taken || at != end-1 || k != 1024 || g.expand(slot+1023) != maxID {
		t.Fatalf("%d slots from %d, outcome %d", k, slot, out)
	}
	for _, now := range []clustertime.Tick{end - 1, end, end + 1<<45} {
		if _, _, _, out := takeAt(g, now, 1); out != exhausted {
			t.Errorf("at %d: outcome %d", now, out)
		}
	}
	for _, from := range []clustertime.Tick{end, end + 1<<47} {
		g := newGenerator(define(t, 128), attachment{Grant: bridge.Grant{From: from, Until: from + 10}}, from, new(counts))
		if _, _, _, out := takeAt(g, from+1, 1); out != exhausted {
			t.Errorf("granted from %d: outcome %d", from, out)
		}
	}
}

// TestStoppedGeneratorIgnoresGrants: a grant that arrives late does not revive a generator.
func TestStoppedGeneratorIgnoresGrants(t *testing.T) {
	g := newGenerator(define(t, 128), attachment{Grant: bridge.Grant{From: 1000, Until: 2000}}, 0, new(counts))
	for range 2 {
		if used := g.stop(); used != 0 {
			t.Errorf("unused, and %d is the last used", used)
		}
	}
	g = newGenerator(define(t, 128), attachment{Grant: bridge.Grant{From: 1000, Until: 2000}}, 0, new(counts))
	takeAt(g, 1500, 1)
	for range 2 {
		if used := g.stop(); used != 1500 {
			t.Errorf("last used %d", used)
		}
		g.extend(bridge.Grant{From: 1500, Until: 3000})
		g.wake()
		if _, _, _, out := takeAt(g, 1600, 1); out != stopped {
			t.Errorf("outcome %d", out)
		}
	}
}

// TestFillExpands: a batch has the IDs of its slots one by one, also across the end of a
// millisecond.
func TestFillExpands(t *testing.T) {
	g := newGenerator(define(t, 8192), attachment{Node: 77, Grant: bridge.Grant{From: 2000, Until: 2100}}, 0, new(counts))
	for _, first := range []int64{0, 1, 1023, 1024, 5000} {
		dst := make([]ID, 2500)
		g.fill(dst, first)
		for i, id := range dst {
			if want := g.expand(first + int64(i)); id != want {
				t.Fatalf("ID %d from slot %d is %d, want %d", i, first, id, want)
			}
		}
	}
}
