package sequencer

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment/bridge"
	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// result is the result of a call of Next.
type result struct {
	at  clustertime.Tick
	err error
}

// goNext calls Next in a goroutine, until it has to wait or has an answer.
func (h *handle) goNext(ctx context.Context) <-chan result {
	out := make(chan result, 1)
	go func() {
		id, err := h.Next(ctx)
		out <- result{clustertime.Tick(h.Definition().Decompose(id).Time.UnixMilli()), err}
	}()
	synctest.Wait()
	return out
}

// waits fails if a call has its answer already.
func waits(t *testing.T, out <-chan result) {
	t.Helper()
	synctest.Wait()
	select {
	case r := <-out:
		t.Fatalf("did not wait: %+v", r)
	default:
	}
}

// TestWaitEndsWithContext: the error says why Next waited, and how the wait ended.
func TestWaitEndsWithContext(t *testing.T) {
	for _, c := range []struct {
		name  string
		set   func(*handle)
		cause error
		waits uint64
		text  string
	}{
		{"grant used up", func(h *handle) { h.clock.set(3007) }, ErrGrantExpired, 1,
			"used up 7ms ago and not renewed: check that the grid or the store is reachable"},
		{"grant not renewed", func(h *handle) {
			h.control.NotRenewed(numbered(1), errors.New("write /data/7: no space left on device"))
			h.control.NotRenewed(numbered(2), errors.New("of another attachment"))
			h.clock.set(3007)
		}, ErrGrantExpired, 1,
			"used up 7ms ago and not renewed; last error: write /data/7: no space left on device: context"},
		{"grant renewed since", func(h *handle) {
			h.control.NotRenewed(numbered(1), errors.New("no space left on device"))
			h.control.Renewed(numbered(1), bridge.Grant{From: 3000, Until: 3005})
			h.clock.set(3007)
		}, ErrGrantExpired, 1, "used up 2ms ago and not renewed: check"},
		{"grant ahead", func(h *handle) { h.clock.set(1500) }, ErrGrantExpired,
			1, "IDs begin at 1970-01-01T00:00:02Z (in 500ms)"},
		{"no grant yet, and the first one ahead", func(h *handle) {
			_ = h.control.DetachIdle(t.Context())
			h.backend.grant = bridge.Grant{From: 5000, Until: 5000} // IDs begin above the present ceiling
		}, ErrGrantExpired, 1, "IDs begin at 1970-01-01T00:00:05Z (in 3s)"},
		{"no time known", func(h *handle) { h.clock.set(0) }, ErrGrantExpired, 1, "not known here yet"},
		{"between two grants", func(h *handle) {
			h.control.Renewed(numbered(1), bridge.Grant{From: 3100, Until: 4000})
			h.clock.set(3050)
		}, ErrGrantExpired, 1, "(in 50ms)"},
		{"millisecond used up", func(h *handle) { _, _ = h.Fill(t.Context(), make([]ID, 1024)) }, context.DeadlineExceeded,
			0, "in this millisecond"},
		{"no free node", func(h *handle) {
			_ = h.control.DetachIdle(t.Context())
			h.backend.attach = func(preference) (attachment, error) { return attachment{}, ErrNoFreeNode }
		}, ErrNoFreeNode, 0, "no free"},
		{"turn taken", func(h *handle) {
			_ = h.control.DetachIdle(t.Context())
			<-h.turn
		}, ErrUnavailable, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := attachedHandle(t)
				h.DetachWhenIdle(time.Millisecond)
				c.set(h)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				out := h.goNext(ctx)
				if st := h.Stats(); st.GrantWaits != c.waits || st.WaitingNow != 1 || h.control.Idle(1<<50) {
					t.Errorf("while waiting: %+v", st)
				}
				r := <-out
				is(t, "next", r.err, c.cause, context.DeadlineExceeded)
				if text := r.err.Error(); !strings.Contains(text, c.text) || strings.Contains(text, "reachable") &&
					strings.Contains(text, "IDs begin") {
					t.Errorf("the error says %q, want %q in it", text, c.text)
				}
				if errors.Is(r.err, ErrGrantExpired) != (c.waits > 0) || time.Since(began) != time.Second {
					t.Errorf("after %v: %v", time.Since(began), r.err)
				}
				if st := h.Stats(); st.WaitingNow != 0 || st.GrantWaits != c.waits {
					t.Errorf("after the wait: %+v", st)
				}
			})
		})
	}
}

// TestWaitForTimeEndsJustBefore it would have come: the cause is that time was far behind, not that a
// millisecond is used up.
func TestWaitForTimeEndsJustBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := attachedHandle(t)
		h.clock.set(2500)
		h.next(t)
		s := newStriped(t, 2)
		s.clock.set(2500)
		_, err := s.Fill(t.Context(), make([]ID, 2048)) // of both stripes
		is(t, "fill", err, nil)
		for name, c := range map[string]struct {
			clock *manualClock
			next  func(context.Context) (ID, error)
		}{
			"handle": {h.clock, h.Next}, "stripes": {s.clock, s.Next},
		} {
			c.clock.set(2100)
			ctx, cancel := context.WithCancel(t.Context())
			out := make(chan error, 1)
			go func() { _, err := c.next(ctx); out <- err }()
			synctest.Wait()
			c.clock.set(clustertime.Tick(2501).Add(-trail))
			synctest.Wait()
			cancel()
			is(t, name, <-out, ErrUnavailable, context.Canceled)
		}
	})
}

// TestGrantWaitStats: the longest wait in cluster time, counted once a call.
func TestGrantWaitStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := attachedHandle(t)
		if st := h.Stats(); st.GrantUntil != time.UnixMilli(3000).UTC() || st.IDs != 0 {
			t.Errorf("%+v", st)
		}
		h.clock.set(3000)
		out := h.goNext(t.Context())
		h.clock.set(3250)
		h.control.Renewed(numbered(1), bridge.Grant{From: 2000, Until: 3100}) // not enough
		waits(t, out)
		h.control.Renewed(numbered(1), bridge.Grant{From: 2000, Until: 4000})
		if r := <-out; r.at != 3250 || r.err != nil {
			t.Errorf("%+v", r)
		}
		h.clock.set(4000)
		ctx, cancel := context.WithCancel(t.Context())
		out = h.goNext(ctx)
		h.clock.set(4100)
		cancel()
		is(t, "next", (<-out).err, ErrGrantExpired, context.Canceled)
		st := h.Stats()
		if st.GrantWaits != 2 || st.LongestGrantWait != 250*time.Millisecond || st.IDs != 1 {
			t.Errorf("%+v", st)
		}
		_ = h.DetachLogicalNode(t.Context())
		if st := h.Stats(); !st.GrantUntil.IsZero() || st.LongestGrantWait != 250*time.Millisecond {
			t.Errorf("detached: %+v", st)
		}
	})
}

// TestWaitersHaveSlots: calls that wait for the next millisecond have an ID of it, however
// fast another caller takes all the others.
func TestWaitersHaveSlots(t *testing.T) {
	type handle interface {
		Next(context.Context) (ID, error)
		Fill(context.Context, []ID) (int, error)
		Definition() Definition
	}
	for name, handleOf := range map[string]func(*striped) handle{
		"Sequencer": func(s *striped) handle { return s.handles[0].Sequencer },
		"Striped":   func(s *striped) handle { return s.Striped },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const waiting = 40
				s := newStriped(t, 1)
				h := handleOf(s)
				if n, err := h.Fill(t.Context(), make([]ID, 1024)); err != nil {
					t.Fatal(n, err)
				}
				at := make(chan clustertime.Tick, waiting)
				for range waiting {
					go func() {
						id, err := h.Next(t.Context())
						is(t, "next", err, nil)
						at <- clustertime.Tick(h.Definition().Decompose(id).Time.UnixMilli())
					}()
				}
				synctest.Wait()
				s.clock.quietly(2001)
				if n, err := h.Fill(ended(t), make([]ID, 1024)); n != 1024-waiting || !errors.Is(err, context.Canceled) {
					t.Errorf("%d IDs for who came later, %v", n, err)
				}
				s.clock.set(2001)
				for range waiting {
					if got := <-at; got != 2001 {
						t.Errorf("waited for %d", got)
					}
				}
			})
		})
	}
}

// TestNothingIsIssuedInAGap: the new owner's grant begins after a loss; what lies
// between the old one and it is not the holder's, however long it waits there.
func TestNothingIsIssuedInAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := attachedHandle(t)
		h.clock.set(2999)
		if at, _ := h.next(t); at != 2999 {
			t.Fatalf("at %d", at)
		}
		h.clock.set(3000)
		out := h.goNext(t.Context())
		h.control.Renewed(numbered(1), bridge.Grant{From: 3500, Until: 4000})
		for _, now := range []clustertime.Tick{3001, 3200, 3499} {
			h.clock.set(now)
			waits(t, out)
		}
		h.clock.set(3500)
		if r := <-out; r.at != 3500 || r.err != nil {
			t.Errorf("%+v", r)
		}
		if st := h.Stats(); st.GrantWaits != 1 || st.LongestGrantWait != 500*time.Millisecond {
			t.Errorf("%+v", st)
		}
	})
}

// TestGrantAheadIsWaitedFor: an attach whose grant lies ahead, or is empty as yet,
// is complete; the wait for it is one for a grant.
func TestGrantAheadIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandle(t)
		h.backend.grant = bridge.Grant{From: 2500, Until: 2500}
		is(t, "attach", h.AttachLogicalNode(t.Context()), nil)
		out := h.goNext(t.Context())
		h.clock.set(2400)
		h.control.Renewed(numbered(1), bridge.Grant{From: 2500, Until: 3000})
		h.clock.set(2499)
		waits(t, out)
		h.clock.set(2600)
		if r := <-out; r.at != 2600 || r.err != nil {
			t.Errorf("%+v", r)
		}
		if st := h.Stats(); st.GrantWaits != 1 || st.LongestGrantWait != 600*time.Millisecond {
			t.Errorf("%+v", st)
		}
	})
}

// TestEndOfHandleEndsWaits: a call that waits for a grant or for time immediately
// returns the error of the handle's new state.
func TestEndOfHandleEndsWaits(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*handle)
		want error
	}{
		"detach":  {func(h *handle) { _ = h.DetachLogicalNode(t.Context()) }, ErrDetached},
		"destroy": {func(h *handle) { _ = h.Destroy(t.Context()) }, ErrDestroyed},
		"told":    {func(h *handle) { h.control.Destroy() }, ErrDestroyed},
		"close":   {func(h *handle) { h.control.Close() }, ErrClosed},
		"replace": {func(h *handle) {
			h.backend.grant = bridge.Grant{From: 2000, Until: 9000}
			_ = h.control.Replace(t.Context(), numbered(1))
			h.clock.set(3001)
		}, nil},
		"idle": {func(h *handle) {
			h.backend.grant = bridge.Grant{From: 2000, Until: 9000}
			_ = h.control.DetachIdle(t.Context())
			h.clock.set(3001)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := attachedHandle(t)
				h.clock.set(3000)
				first, second := h.goNext(t.Context()), h.goNext(t.Context())
				waits(t, first)
				c.end(h)
				is(t, "first", (<-first).err, c.want)
				is(t, "second", (<-second).err, c.want)
			})
		})
	}
}

// TestReviveWaitsForANode: while no node is free Next retries, and returns when its handle
// ends.
func TestReviveWaitsForANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandle(t)
		h.DetachWhenIdle(time.Second)
		full := func(preference) (attachment, error) { return attachment{}, ErrNoFreeNode }
		h.backend.attach = full
		out := h.goNext(t.Context())
		h.clock.set(2049)
		waits(t, out)
		if len(h.backend.asked) != 1 {
			t.Errorf("%d attaches in 49 ms", len(h.backend.asked))
		}
		h.clock.set(2050)
		waits(t, out)
		h.backend.attach = nil
		h.clock.set(2100)
		if r := <-out; r.at != 2100 || len(h.backend.asked) != 3 {
			t.Errorf("%+v after %d attaches", r, len(h.backend.asked))
		}
		_ = h.control.DetachIdle(t.Context())
		h.backend.attach = full
		out = h.goNext(t.Context())
		h.control.Destroy()
		h.clock.set(2150)
		is(t, "next", (<-out).err, ErrDestroyed)
	})
}

// TestAttachesGoOneAtATime: the second of two waits for the first, or its context.
func TestAttachesGoOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandle(t)
		answer := make(chan struct{})
		h.backend.attach = func(p preference) (attachment, error) {
			<-answer
			return attachment{ID: numbered(1), Grant: h.backend.grant}, nil
		}
		errs := make(chan error, 2)
		for range 2 {
			go func() { errs <- h.AttachLogicalNode(t.Context()) }()
		}
		synctest.Wait()
		is(t, "third", h.AttachLogicalNode(ended(t)), ErrUnavailable, context.Canceled)
		is(t, "detach", h.DetachLogicalNode(ended(t)), ErrUnavailable, context.Canceled)
		is(t, "replace", h.control.Replace(ended(t), numbered(1)), ErrUnavailable, context.Canceled)
		close(answer)
		// The second may be done before the first has told its result.
		first, second := <-errs, <-errs
		if first != nil {
			first, second = second, first
		}
		is(t, "first", first, nil)
		is(t, "second", second, ErrAttached)
		if len(h.backend.asked) != 1 {
			t.Errorf("%d attaches", len(h.backend.asked))
		}
	})
}

// TestChangeBeforeAWaitIsNotMissed: what happens between a failed try and the sleep after
// it is not missed. The second reading of the clock lies there: the first is the try.
func TestChangeBeforeAWaitIsNotMissed(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*handle)
		want   error
	}{
		"renewed": {func(h *handle) { h.control.Renewed(numbered(1), bridge.Grant{From: 2000, Until: 9000}) }, nil},
		"closed":  {func(h *handle) { h.control.Close() }, ErrClosed},
		"detach":  {func(h *handle) { _ = h.DetachLogicalNode(t.Context()) }, ErrDetached},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := attachedHandle(t)
				h.clock.set(3000)
				h.clock.onRead = func(n int64) {
					if n == 2 {
						c.change(h)
					}
				}
				_, err := h.Next(t.Context())
				is(t, "next", err, c.want)
				if h.clock.reads.Load() < 2 {
					t.Errorf("read %d times", h.clock.reads.Load())
				}
			})
		})
	}
}

// TestReviveReturnsTheLastAttachError: the context ends while the backend is asked again, which fails
// by that or still finds no node. The cause is that no node was free.
func TestReviveReturnsTheLastAttachError(t *testing.T) {
	for _, cutOff := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			h := newHandle(t)
			h.DetachWhenIdle(time.Second)
			ctx, cancel := context.WithCancel(t.Context())
			h.backend.attach = func(preference) (attachment, error) {
				if len(h.backend.asked) == 1 {
					return attachment{}, ErrNoFreeNode
				}
				<-ctx.Done()
				if cutOff {
					return attachment{}, errors.Join(ErrUnavailable, ctx.Err())
				}
				return attachment{}, ErrNoFreeNode
			}
			out := h.goNext(ctx)
			h.clock.set(2050)
			waits(t, out)
			cancel()
			err := (<-out).err
			is(t, "next", err, ErrNoFreeNode, context.Canceled)
			if n := strings.Count(err.Error(), "no free"); n != 1 {
				t.Errorf("%d times in the error that no node is free: %v", n, err)
			}
		})
	}
}

// TestEndedContextDoesNotCostAnID: the next millisecond has come while a call looked. That its
// context has ended does not matter then.
func TestEndedContextDoesNotCostAnID(t *testing.T) {
	clock := &lateClock{manualClock: newManualClock(2000)}
	s := stripedOn(t, 1, clock)
	for what, next := range map[string]func(context.Context) (ID, error){"Sequencer": s.handles[0].Next,
		"Striped": s.Next} {
		_, err := s.Fill(t.Context(), make([]ID, 1024))
		is(t, "fill", err, nil)
		at := clock.Now() + 1
		clock.late = func() { clock.quietly(at) }
		id, err := next(ended(t))
		is(t, what, err, nil)
		if got := clustertime.TickOf(s.Definition().Decompose(id).Time); got != at {
			t.Errorf("%s: an ID of %d at %d", what, got, at)
		}
		clock.set(at.Add(memory))
	}
}

// TestUnknownTimeIsNotTimed: a wait for a grant that began before any time was known is
// counted, without its length.
func TestUnknownTimeIsNotTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := attachedHandle(t)
		h.clock.set(0)
		out := h.goNext(t.Context())
		waits(t, out)
		h.clock.set(2010)
		is(t, "next", (<-out).err, nil)
		if st := h.Stats(); st.GrantWaits != 1 || st.LongestGrantWait != 0 || st.WaitingNow != 0 {
			t.Errorf("%+v", st)
		}
	})
}
