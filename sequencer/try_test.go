package sequencer

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment/bridge"
	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// goNext calls Next in a goroutine, until it has to wait or has an answer.
func (s *striped) goNext(ctx context.Context) <-chan result {
	out := make(chan result, 1)
	go func() {
		id, err := s.Next(ctx)
		out <- result{clustertime.Tick(s.Definition().Decompose(id).Time.UnixMilli()), err}
	}()
	synctest.Wait()
	return out
}

// TestStripeThatCannotServe: it stops no caller while another stripe can serve.
func TestStripeThatCannotServe(t *testing.T) {
	for name, spoil := range map[string]func(*striped){
		"no grant": func(s *striped) { s.clock.set(3000); s.renew(1, 9000) },
		"a grant ahead": func(s *striped) {
			s.clock.set(3000)
			s.handles[0].control.Renewed(numbered(0), bridge.Grant{From: 4000, Until: 9000})
			s.renew(1, 9000)
		},
		"detached":  func(s *striped) { _ = s.handles[0].DetachLogicalNode(t.Context()) },
		"idle":      func(s *striped) { s.handles[0].DetachWhenIdle(1); _ = s.handles[0].control.DetachIdle(t.Context()) },
		"closed":    func(s *striped) { s.handles[0].control.Close() },
		"destroyed": func(s *striped) { s.handles[0].control.Destroy() },
		"used up":   func(s *striped) { _, _ = s.handles[0].Fill(t.Context(), make([]ID, 1024)) },
	} {
		s := newStriped(t, 2)
		spoil(s)
		for range 500 {
			id, err := s.Next(ended(t))
			if p := s.Definition().Decompose(id); err != nil || p.Node != 9 {
				t.Fatalf("%s: node %d, %v", name, p.Node, err)
			}
		}
		n, err := s.Fill(ended(t), make([]ID, 524))
		if is(t, name, err, nil); n != 524 {
			t.Errorf("%s: %d IDs", name, n)
		}
		if s.State() != Attached || s.Stats().GrantWaits != 0 {
			t.Errorf("%s: %v, %+v", name, s.State(), s.Stats())
		}
	}
}

// TestStripedError: what holds for all stripes comes before what holds for one.
func TestStripedError(t *testing.T) {
	bars := map[error]func(*handle){
		ErrDestroyed:      func(h *handle) { h.control.Destroy() },
		ErrEpochExhausted: func(*handle) {}, // by the time
		ErrClosed:         func(h *handle) { h.control.Close() },
		ErrDetached:       func(h *handle) { _ = h.DetachLogicalNode(t.Context()) },
	}
	order := []error{ErrDestroyed, ErrEpochExhausted, ErrClosed, ErrDetached}
	for i, first := range order {
		for _, second := range order[i:] {
			for swap := range 2 {
				s := newStriped(t, 2)
				s.clock.set(1000 + 1<<40)
				bars[first](s.handles[swap])
				bars[second](s.handles[1-swap])
				for range 10 {
					_, err := s.Next(t.Context())
					is(t, "next", err, first)
				}
				n, err := s.Fill(t.Context(), make([]ID, 3))
				if is(t, "fill", err, first); n != 0 {
					t.Errorf("%d IDs with %v", n, err)
				}
			}
		}
	}
}

// TestStripedWaitEnds: a wait for a grant ends with the first grant, whichever stripe
// it is for, and is counted once.
func TestStripedWaitEnds(t *testing.T) {
	for renewed := range 3 {
		synctest.Test(t, func(t *testing.T) {
			s := newStriped(t, 3)
			s.clock.set(3000)
			out := s.goNext(t.Context())
			s.clock.set(3100)
			waits(t, out)
			if st := s.Stats(); st.GrantWaits != 1 || st.WaitingNow != 1 {
				t.Errorf("while waiting: %+v", st)
			}
			s.renew(renewed, 9000)
			synctest.Wait()
			end := clustertime.Tick(3100)
			if len(out) == 0 { // it waits for another stripe
				end = end.Add(lookAgain)
				s.clock.set(end)
			}
			if r := <-out; r.at != end || r.err != nil {
				t.Errorf("%+v", r)
			}
			st := s.Stats()
			if st.GrantWaits != 1 || st.WaitingNow != 0 || st.LongestGrantWait != end.Sub(3000).Duration() ||
				st.GrantWaited != st.LongestGrantWait || st.IDs != 1 {
				t.Errorf("%+v", st)
			}
			if until := time.UnixMilli(3000).UTC(); st.GrantUntil != until {
				t.Errorf("granted until %v, want the earliest, %v", st.GrantUntil, until)
			}
		})
	}
}

// TestStripedWaitsForTheFirst: the stripe that can continue first ends the wait, without
// any event but time.
func TestStripedWaitsForTheFirst(t *testing.T) {
	for ahead := range 3 {
		synctest.Test(t, func(t *testing.T) {
			s := newStriped(t, 3)
			s.clock.set(3000)
			s.handles[ahead].control.Renewed(numbered(ahead), bridge.Grant{From: 3010, Until: 9000})
			out := s.goNext(t.Context())
			s.clock.set(3009)
			waits(t, out)
			s.clock.set(3010)
			if r := <-out; r.at != 3010 || r.err != nil {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestStripedWaitIsWoken: a grant and an end of the stripe that is waited for end the
// wait without any time.
func TestStripedWaitIsWoken(t *testing.T) {
	for name, c := range map[string]struct {
		wake func(*striped)
		want error
	}{
		"grant":   {func(s *striped) { s.renew(0, 9000) }, nil},
		"detach":  {func(s *striped) { _ = s.handles[0].DetachLogicalNode(t.Context()) }, ErrDetached},
		"destroy": {func(s *striped) { s.handles[0].control.Destroy() }, ErrDestroyed},
		"close":   {func(s *striped) { s.handles[0].control.Close() }, ErrClosed},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newStriped(t, 2)
			s.clock.set(3000)
			_ = s.handles[1].DetachLogicalNode(t.Context())
			out := s.goNext(t.Context())
			waits(t, out)
			c.wake(s)
			if r := <-out; r.at != 3000 && c.want == nil {
				t.Errorf("%s: %+v", name, r)
			} else {
				is(t, name, r.err, c.want)
			}
		})
	}
}

// TestStripedWaitEndsWithContext: the error says why Next waited, and how it ended.
func TestStripedWaitEndsWithContext(t *testing.T) {
	for name, c := range map[string]struct {
		now   clustertime.Tick
		cause error
	}{
		"grants used up": {3000, ErrGrantExpired},
		"no time known":  {0, ErrGrantExpired},
		"time far back":  {2100, ErrUnavailable},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newStriped(t, 2)
			s.clock.set(2500)
			_, err := s.Fill(t.Context(), make([]ID, 2048)) // of both stripes
			is(t, name, err, nil)
			s.clock.set(c.now)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err = s.Next(ctx)
			is(t, name, err, c.cause, context.DeadlineExceeded)
			if st := s.Stats(); st.WaitingNow != 0 {
				t.Errorf("%s: after the wait: %+v", name, st)
			}
		})
	}
}

// TestStripedUnderCallers: eight goroutines call Next and Fill while stripes are
// replaced and released one after the other. No ID is repeated or missing in the counts,
// and every call fails in the end.
func TestStripedUnderCallers(t *testing.T) {
	rounds(t, 100, func(t *testing.T) {
		clock := &runningClock{}
		clock.now.Store(2000)
		s := stripedOn(t, 4, clock).forever()
		var ids [callers][]ID
		var running, begun sync.WaitGroup
		begun.Add(callers)
		for i := range callers {
			running.Go(func() { ids[i] = untilRefused(t, s.Striped, i%2 == 0, begun.Done) })
		}
		begun.Wait()
		s.handles[0].backend.attach = func(preference) (attachment, error) {
			return attachment{ID: numbered(20), Node: 20, Grant: bridge.Grant{From: 2000, Until: 1 << 40}}, nil
		}
		is(t, "replace", s.handles[0].control.Replace(t.Context(), numbered(0)), nil)
		for _, h := range s.handles {
			runtime.Gosched()
			is(t, "detach", h.DetachLogicalNode(t.Context()), nil)
		}
		running.Wait()
		seen := newTally()
		for i := range callers {
			seen.caller(t, s.Definition(), ids[i])
		}
		if st := s.Stats(); st.IDs != uint64(len(seen.seen)) || st.WaitingNow != 0 {
			t.Errorf("%d IDs issued, %+v", len(seen.seen), st)
		}
	})
}

// TestStripedUnderLoad: callers use up two nodes by a clock that runs, mostly without
// a look at it. No ID comes twice, and all of them are counted.
func TestStripedUnderLoad(t *testing.T) {
	s := stripedOn(t, 2, steadyClock{time.Now()}).forever()
	for _, h := range s.handles {
		calibrated(h.now.Load().gen)
	}
	var ids [callers][]ID
	var running sync.WaitGroup
	for i := range callers {
		running.Go(func() {
			batch := make([]ID, 100)
			for len(ids[i]) < 10_000 {
				n, err := s.Fill(t.Context(), batch[:i%3*50])
				is(t, "fill", err, nil)
				id, err := s.Next(t.Context())
				is(t, "next", err, nil)
				ids[i] = append(append(ids[i], batch[:n]...), id)
			}
		})
	}
	running.Wait()
	seen := newTally()
	for i := range callers {
		seen.caller(t, s.Definition(), ids[i])
	}
	if st := s.Stats(); st.IDs != uint64(len(seen.seen)) {
		t.Errorf("%d IDs issued, %+v", len(seen.seen), st)
	}
}

// untilRefused takes IDs until a call fails, by Fill or by Next.
func untilRefused(t *testing.T, s *Striped, atOnce bool, begun func()) (ids []ID) {
	for begun := sync.OnceFunc(begun); ; {
		some := make([]ID, 1)
		var err error
		n := 0
		if atOnce {
			some = make([]ID, 3)
			n, err = s.Fill(t.Context(), some)
		} else if some[0], err = s.Next(t.Context()); err == nil {
			n = 1
		}
		ids = append(ids, some[:n]...)
		if err != nil {
			is(t, "refused", err, ErrDetached)
			return ids
		}
		if len(ids) >= 10 {
			begun()
		}
		if len(ids)%20 == 0 {
			runtime.Gosched() // eight spin on maybe two processors
		}
	}
}

// TestTryFollowsReplace: a try whose generator is replaced meanwhile takes from the new one.
func TestTryFollowsReplace(t *testing.T) {
	clock := &lateClock{manualClock: newManualClock(2000)}
	h := stripe(t, 0, clock)
	clock.late = func() { is(t, "replace", h.control.Replace(t.Context(), numbered(0)), nil) }
	if a := h.try(1); a.out != taken {
		t.Errorf("outcome %d", a.out)
	}
}
