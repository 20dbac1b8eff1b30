package sequencer

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/snowgrid/snowgrid/internal/attachment/bridge"
	"github.com/snowgrid/snowgrid/internal/clustertime"
)

const callers = 8

// storm is a handle under eight goroutines that call Next until they are refused.
// Each reservation has a timestamp of its own, so one that comes too late shows.
type storm struct {
	*Sequencer
	control *control
	backend *fakeBackend
	clock   *runningClock
	ids     [callers][]ID
	errs    [callers]error
	running sync.WaitGroup
}

// newStorm returns a storm once every caller has issued IDs.
func newStorm(t *testing.T) *storm {
	s := &storm{backend: &fakeBackend{grant: bridge.Grant{From: 2000, Until: 1 << 40}}, clock: &runningClock{}}
	s.clock.now.Store(2000)
	s.Sequencer, s.control = newSequencer(define(t, 8192), bridge.Life{1}, s.backend, s.clock)
	if err := s.AttachLogicalNode(t.Context()); err != nil {
		t.Fatal(err)
	}
	var begun sync.WaitGroup
	begun.Add(callers)
	for i := range callers {
		s.running.Go(func() {
			for {
				id, err := s.Next(t.Context())
				if err != nil {
					s.errs[i] = err
					return
				}
				switch s.ids[i] = append(s.ids[i], id); {
				case len(s.ids[i]) == 10:
					begun.Done()
				case len(s.ids[i])%20 == 0:
					runtime.Gosched() // eight spin on maybe two processors
				}
			}
		})
	}
	begun.Wait()
	return s
}

// check wants every caller refused for the reason given, each caller's IDs
// ascending, and no ID twice.
func (s *storm) check(t *testing.T, want error) {
	t.Helper()
	s.running.Wait()
	seen := map[ID]bool{}
	for i := range callers {
		if !errors.Is(s.errs[i], want) {
			t.Fatalf("%v, want %v", s.errs[i], want)
		}
		last := ID(-1)
		for _, id := range s.ids[i] {
			if id <= last || seen[id] {
				t.Fatalf("%d after %d, or twice", id, last)
			}
			last, seen[id] = id, true
		}
	}
	if st := s.Stats(); st.IDs != uint64(len(seen)) {
		t.Fatalf("%d IDs counted, %d issued", st.IDs, len(seen))
	}
}

// span returns the lowest and the highest timestamp issued on a node.
func (s *storm) span(node NodeID) (low, high clustertime.Tick) {
	low = farAhead
	for _, ids := range s.ids {
		for _, id := range ids {
			if p := s.Definition().Decompose(id); p.Node == node {
				at := clustertime.TickOf(p.Time)
				low, high = min(low, at), max(high, at)
			}
		}
	}
	return low, high
}

// rounds runs f in bubbles of its own, in which a wait that nothing ends fails.
func rounds(t *testing.T, n int, f func(t *testing.T)) {
	if testing.Short() {
		n /= 10
	}
	for range n {
		synctest.Test(t, f)
		if t.Failed() {
			return
		}
	}
}

// TestReleaseReportsTheLastUsedTimestamp: the handle releases its node while eight goroutines take IDs. No
// caller has an ID above the reported last timestamp, and the reported one was used.
func TestReleaseReportsTheLastUsedTimestamp(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(t *testing.T, s *storm) release
		want error
	}{
		"detach": {func(t *testing.T, s *storm) release {
			is(t, "detach", s.DetachLogicalNode(t.Context()), nil)
			return s.backend.released[0]
		}, ErrDetached},
		"close": {func(t *testing.T, s *storm) release {
			rel, _ := s.control.Close()
			return rel
		}, ErrClosed},
		"destroy": {func(t *testing.T, s *storm) release {
			rel, _ := s.control.Destroy()
			return rel
		}, ErrDestroyed},
	} {
		t.Run(name, func(t *testing.T) {
			rounds(t, 100, func(t *testing.T) {
				s := newStorm(t)
				rel := c.end(t, s)
				s.control.Renewed(rel.ID, bridge.Grant{From: 2000, Until: 1 << 41})
				s.check(t, c.want)
				if _, high := s.span(0); rel.LastUsed != high {
					t.Fatalf("said to have used %d, an ID is at %d", rel.LastUsed, high)
				}
			})
		})
	}
}

// TestReplaceKeepsNodesApart: an attachment is replaced under load. Everything
// issued on the new node is later than everything on the old one.
func TestReplaceKeepsNodesApart(t *testing.T) {
	rounds(t, 100, func(t *testing.T) {
		s := newStorm(t)
		s.backend.attach = func(preference) (attachment, error) {
			return attachment{ID: numbered(2), Node: 9, Grant: s.backend.grant}, nil
		}
		is(t, "replace", s.control.Replace(t.Context(), numbered(1)), nil)
		for range 10 {
			if _, err := s.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		s.counts.lost.Add(10) // those ten are in no list
		s.control.Close()
		s.check(t, ErrClosed)
		_, old := s.span(0)
		if low, _ := s.span(9); low <= old {
			t.Fatalf("the new node begins at %d, the old one ends at %d", low, old)
		}
	})
}

// TestConcurrentEnds: detach, close, destroy and a late attach run concurrently, under
// load. The node is released once, the end is permanent, and every waiting call is woken.
func TestConcurrentEnds(t *testing.T) {
	rounds(t, 100, func(t *testing.T) {
		s := newStorm(t)
		var detachErr, attachErr error
		var rels [2]bool
		var ends sync.WaitGroup
		ends.Go(func() { detachErr = s.DetachLogicalNode(t.Context()); attachErr = s.AttachLogicalNode(t.Context()) })
		ends.Go(func() { _, rels[0] = s.control.Destroy() })
		ends.Go(func() { _, rels[1] = s.control.Close() })
		ends.Wait()
		s.running.Wait()
		given := len(s.backend.released)
		for _, held := range rels {
			if held {
				given++
			}
		}
		if tries := len(s.backend.asked); given < 1 || given > tries || s.now.Load().final == nil {
			t.Fatalf("given back %d times after %d attaches, %v: %v, %v", given, tries, s.State(), detachErr, attachErr)
		}
		if _, err := s.Next(t.Context()); !errors.Is(err, ErrDestroyed) && !errors.Is(err, ErrClosed) {
			t.Fatal(err)
		}
		if _, held := s.control.Held(); held {
			t.Fatal("something is held")
		}
	})
}

// TestNoWakeupIsLost: grants of one millisecond arrive while eight goroutines run
// into their ends. If one missed a renewal, all would sleep and the bubble fail.
func TestNoWakeupIsLost(t *testing.T) {
	rounds(t, 20, func(t *testing.T) {
		h := newHandle(t)
		h.backend.grant = bridge.Grant{From: 2000, Until: 2001}
		if err := h.AttachLogicalNode(t.Context()); err != nil {
			t.Fatal(err)
		}
		const steps = 50
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				for range steps {
					if _, err := h.Next(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for step := range clustertime.Tick(steps) {
			h.clock.set(2000 + 2*step)
			h.control.Renewed(numbered(1), bridge.Grant{From: 2000 + 2*step, Until: 2001 + 2*step})
		}
		all.Wait()
		if st := h.Stats(); st.IDs != callers*steps || st.WaitingNow != 0 {
			t.Fatalf("%+v", st)
		}
	})
}

// TestTakesAreDistinct: eight goroutines use up some milliseconds together. Every
// slot is taken once.
func TestTakesAreDistinct(t *testing.T) {
	def := define(t, 128)
	for range 5 {
		g := newGenerator(def, attachment{Grant: bridge.Grant{From: 2000, Until: 3000}}, 0, new(counts))
		var times [1 << 16]atomic.Int32
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				for {
					slot, k, _, out := takeAt(g, 2000, 1+i%3)
					if out != taken {
						return
					}
					for j := range int64(k) {
						times[(slot+j)%(1<<16)].Add(1)
					}
				}
			})
		}
		all.Wait()
		for i := range times {
			if n := times[i].Load(); n != 1 {
				t.Fatalf("counter %d was taken %d times", i, n)
			}
		}
	}
}

// TestStopReturnsTheLastTimestamp: a generator is stopped while two goroutines take from it,
// each time at a later millisecond. What stop returns is the largest taken, with
// nothing taken after.
func TestStopReturnsTheLastTimestamp(t *testing.T) {
	for range 2000 {
		g := newGenerator(define(t, 128), attachment{Grant: bridge.Grant{From: 2000, Until: 1 << 40}}, 0, new(counts))
		var now, begun atomic.Int64
		now.Store(2000)
		var highest [2]clustertime.Tick
		var all sync.WaitGroup
		for i := range highest {
			all.Go(func() {
				for n := 1; ; n++ {
					_, _, at, out := takeAt(g, clustertime.Tick(now.Add(1)), 1)
					if out == stopped {
						return
					}
					if out == taken {
						highest[i] = max(highest[i], at)
					}
					if begun.Store(1); n%50 == 0 {
						runtime.Gosched()
					}
				}
			})
		}
		for begun.Load() == 0 {
			runtime.Gosched()
		}
		used := g.stop()
		all.Wait()
		if most := max(highest[0], highest[1]); used != most {
			t.Fatalf("stop says %d, the last taken was at %d", used, most)
		}
	}
}
