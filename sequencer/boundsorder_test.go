package sequencer

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/snowgrid/snowgrid/internal/attachment/bridge"
)

// TestBoundsExcludeGaps: one goroutine reserves slots all the time while another one
// publishes the bounds of a grant, and then those of a later one. No caller may use a slot
// between the two, also while only one of the two bounds is new. That moment is nanoseconds
// long, so there are many rounds; with the two stores in the other order, thousands of slots
// are wrong.
func TestBoundsExcludeGaps(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("needs two processors: the moment between two stores is seen from another one only")
	}
	const rounds, nodes = 20_000, 128
	def, first, later := define(t, nodes), bridge.Grant{From: 2000, Until: 2001}, bridge.Grant{From: 2002, Until: 3000}
	gap := int64(first.Until-1000) * def.layout.counters() // of the one millisecond between them
	var current atomic.Pointer[generator]
	renew := func() *generator {
		g := newGenerator(def, attachment{Grant: first}, 0, new(counts))
		g.take(reading{now: 2000}, 1, -1, false)
		g.next.Store(gap) // all of the first grant is used
		current.Store(g)
		return g
	}
	renew()
	var ended atomic.Bool
	var fromGap, reserved int
	var reserving sync.WaitGroup
	reserving.Go(func() {
		for !ended.Load() {
			slot, ok := current.Load().reserve()
			if reserved++; ok && slot < gap+def.layout.counters() {
				fromGap++
			}
		}
	})
	for range rounds {
		g := renew()
		for g.next.Load() == gap {
			runtime.Gosched() // until the other goroutine is at this one
		}
		g.publish(reading{now: 2002}, later)
	}
	ended.Store(true)
	reserving.Wait()
	if fromGap > 0 {
		t.Errorf("%d of %d slots were handed out that no grant holds", fromGap, reserved)
	}
	t.Logf("%d slots reserved in %d rounds", reserved, rounds)
}
