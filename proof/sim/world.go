package sim

import (
	"math/rand/v2"
	"time"
)

// world is virtual time: the event queue, and the only source of randomness. A run depends only on
// its seed.
type world struct {
	now   time.Duration
	queue queue
	rng   *rand.Rand
	trace trace
	net   network
}

func newWorld(seed uint64) *world {
	w := &world{rng: rand.New(rand.NewPCG(seed, 0x5eed)), trace: newTrace()}
	w.net = network{w: w, cut: map[[2]int]time.Duration{}}
	return w
}

// after schedules a function.
func (w *world) after(d time.Duration, do func()) { w.queue.put(w.now+max(d, 0), do) }

// run runs the events due until a time.
func (w *world) run(until time.Duration) {
	for {
		at, do, found := w.queue.take(until)
		if !found {
			w.now = max(w.now, until)
			return
		}
		w.now = at
		do()
	}
}

// note adds an event to the trace.
func (w *world) note(k kind, who string, a, b int64) { w.trace.note(w.now, k, who, a, b) }

// chance returns true with probability p.
func (w *world) chance(p float64) bool { return p > 0 && w.rng.Float64() < p }

// between draws a duration.
func (w *world) between(low, high time.Duration) time.Duration {
	if high <= low {
		return low
	}
	return low + time.Duration(w.rng.Int64N(int64(high-low)))
}

// bits draws 128 random bits for an identity.
func (w *world) bits() (out [16]byte) {
	for i := 0; i < len(out); i += 8 {
		n := w.rng.Uint64()
		for j := range 8 {
			out[i+j] = byte(n >> (8 * j))
		}
	}
	return out
}

// pick draws one element.
func pick[T any](w *world, from []T) T { return from[w.rng.IntN(len(from))] }
