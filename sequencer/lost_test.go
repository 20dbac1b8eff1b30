package sequencer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment/bridge"
	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// lostHandle is one that has lost attachment 1, at 2000, of which no other node is free.
// Its grant lasts until 3000.
func lostHandle(t *testing.T) *handle {
	t.Helper()
	h := attachedHandle(t)
	h.backend.attach = func(preference) (attachment, error) {
		return attachment{}, errors.Join(errors.New("all 128 are attached"), ErrNoFreeNode)
	}
	is(t, "replace", h.control.Replace(t.Context(), numbered(1)), ErrNoFreeNode)
	return h
}

// lapse takes the handle past the end of its grant.
func (h *handle) lapse(t *testing.T) {
	t.Helper()
	h.clock.set(3000)
	if until, held := h.control.Lapse(numbered(1)); held {
		t.Fatalf("at 3000 it lasts until %d", until)
	}
}

// found has the backend give the attachment with a number, on node 9, from a time on.
func (h *handle) found(n int, from clustertime.Tick) {
	h.backend.attach = func(preference) (attachment, error) {
		return attachment{ID: numbered(n), Node: 9, Grant: bridge.Grant{From: from, Until: 9000}}, nil
	}
}

// TestLostNodeIsUsableUntilItsGrantsEnd: the grants of a lost node may be used until they end, and
// until then the handle is Attached. From then on it is Detached.
func TestLostNodeIsUsableUntilItsGrantsEnd(t *testing.T) {
	h := lostHandle(t)
	for _, now := range []clustertime.Tick{2000, 2500, 2999} {
		h.clock.set(now)
		if until, held := h.control.Lapse(numbered(1)); until != 3000 || !held || !h.control.Lost(numbered(1)) {
			t.Fatalf("at %d it lasts until %d, %v", now, until, held)
		}
		if at, _ := h.next(t); at != now {
			t.Errorf("at %d an ID of %d", now, at)
		}
		if node, held := h.LogicalNode(); !held || node != 0 || h.State() != Attached {
			t.Errorf("at %d it is %v with node %d, %v", now, h.State(), node, held)
		}
	}
	h.control.Renewed(numbered(1), bridge.Grant{From: 2000, Until: 3100}) // an answer from before the loss
	h.clock.set(3000)
	if until, held := h.control.Lapse(numbered(1)); until != 3100 || !held {
		t.Errorf("after a late answer it lasts until %d, %v", until, held)
	}
	if until, held := h.control.Lapse(numbered(7)); until != 0 || held {
		t.Errorf("another attachment lasts until %d, %v", until, held)
	}
	h.clock.set(3100)
	if until, held := h.control.Lapse(numbered(1)); until != 0 || held {
		t.Errorf("at its end it lasts until %d, %v", until, held)
	}
	if _, held := h.LogicalNode(); held || h.State() != Detached || !h.control.Lost(numbered(1)) ||
		!h.Stats().GrantUntil.IsZero() {
		t.Errorf("after its end it is %v, with a node: %v, %+v", h.State(), held, h.Stats())
	}
	h.found(2, 2100) // of another owner, whose time is behind
	is(t, "replace", h.control.Replace(t.Context(), numbered(1)), nil)
	if h.State() != Attached || h.control.Lost(numbered(1)) || h.control.Lost(numbered(2)) == false {
		t.Errorf("with another node it is %v", h.State())
	}
	h.clock.set(2500)
	_, err := h.Next(ended(t))
	is(t, "next at a time before the last ID", err, ErrUnavailable, context.Canceled)
	h.clock.set(3500)
	if at, _ := h.next(t); at != 3500 {
		t.Errorf("an ID of %d", at)
	}
	if st := h.Stats(); st.IDs != 4 {
		t.Errorf("%d IDs counted, 4 issued", st.IDs)
	}
}

// TestNextWaitsForALostNodesReplacement: a call waits for another node whatever the handle did before, and
// the error of its context names the cause.
func TestNextWaitsForALostNodesReplacement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := lostHandle(t)
		h.clock.set(3000)
		early := h.goNext(t.Context()) // for a grant, before the handle knows
		h.lapse(t)
		waits(t, early)
		_, err := h.Next(ended(t))
		is(t, "next before the backend was asked", err, ErrUnavailable, context.Canceled)
		is(t, "replace", h.control.Replace(t.Context(), numbered(1)), ErrNoFreeNode)
		waits(t, early)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = h.Next(ctx)
		is(t, "next", err, ErrNoFreeNode, context.DeadlineExceeded)
		if errors.Is(err, ErrGrantExpired) || errors.Is(err, ErrDetached) {
			t.Errorf("next: %v", err)
		}
		if n, err := h.Fill(ended(t), make([]ID, 5)); n != 0 || !errors.Is(err, ErrNoFreeNode) {
			t.Errorf("fill: %d, %v", n, err)
		}
		h.backend.attach = func(preference) (attachment, error) {
			return attachment{}, errors.Join(ErrUnavailable, context.DeadlineExceeded)
		}
		is(t, "replace", h.control.Replace(t.Context(), numbered(1)), ErrUnavailable)
		_, err = h.Next(ended(t))
		is(t, "next when the backend was not reached", err, ErrUnavailable, context.Canceled)
		if errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it matches the end of another context: %v", err)
		}
		h.found(2, 3000)
		is(t, "replace", h.control.Replace(t.Context(), numbered(1)), nil)
		if r := <-early; r.err != nil || r.at != 3000 {
			t.Errorf("the call that waited: %+v", r)
		}
		if st := h.Stats(); st.WaitingNow != 0 || st.GrantWaits != 1 {
			t.Errorf("%+v", st)
		}
	})
}

// TestLossNamesTheLastFailure: the error of a call that waits for another node has the text of the last
// attempt's error, whether the handle still had a grant then or not.
func TestLossNamesTheLastFailure(t *testing.T) {
	h := attachedHandle(t)
	says := func(text string, kind error) {
		t.Helper()
		_, err := h.Next(ended(t))
		is(t, "next", err, kind, context.Canceled)
		if errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "; last error: "+text) &&
			!strings.Contains(err.Error(), ": last error: "+text) {
			t.Errorf("the error says %q, want %q in it", err, text)
		}
	}
	fails := func(text string) {
		t.Helper()
		h.backend.attach = func(preference) (attachment, error) {
			return attachment{}, fmt.Errorf("sequencer %q: %s: %w", h.Name(), text, context.DeadlineExceeded)
		}
		is(t, "replace", h.control.Replace(t.Context(), numbered(1)), context.DeadlineExceeded)
	}
	fails("disk full")
	h.clock.set(3000)
	says("disk full", ErrGrantExpired)
	h.lapse(t)
	says("disk full", ErrUnavailable)
	fails("disk gone")
	says("disk gone", ErrUnavailable)
}

// TestLostNodeIsGivenUp: a detach, close or destroy of a handle that waits for another node
// takes effect, and ends the calls that wait.
func TestLostNodeIsGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(t *testing.T, h *handle)
		want error
	}{
		"detach": {func(t *testing.T, h *handle) {
			is(t, "detach", h.DetachLogicalNode(t.Context()), ErrDetached)
			is(t, "replace", h.control.Replace(t.Context(), numbered(1)), nil)
		}, ErrDetached},
		"close":   {func(_ *testing.T, h *handle) { h.control.Close() }, ErrClosed},
		"destroy": {func(t *testing.T, h *handle) { is(t, "destroy", h.Destroy(t.Context()), nil) }, ErrDestroyed},
		"attach": {func(t *testing.T, h *handle) {
			is(t, "attach", h.AttachLogicalNode(t.Context()), ErrNoFreeNode)
			h.found(2, 3000)
			is(t, "attach", h.AttachLogicalNode(t.Context()), nil)
		}, nil},
		"replaced by a destroyed life": {func(t *testing.T, h *handle) {
			h.backend.attach = func(preference) (attachment, error) { return attachment{}, ErrDestroyed }
			is(t, "replace", h.control.Replace(t.Context(), numbered(1)), ErrDestroyed)
		}, ErrDestroyed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := lostHandle(t)
				h.lapse(t)
				out := h.goNext(t.Context())
				c.do(t, h)
				is(t, "next", (<-out).err, c.want)
				if h.control.Lost(numbered(1)) {
					t.Error("it still waits for a node")
				}
				if st := h.Stats(); st.WaitingNow != 0 {
					t.Errorf("%+v", st)
				}
			})
		})
	}
}

// TestLostNodeOfAnIdleHandle: a handle that is detached when idle attaches again when an ID is
// asked for, as after any idle detach, so that it takes no node that others need.
func TestLostNodeOfAnIdleHandle(t *testing.T) {
	h := lostHandle(t)
	h.DetachWhenIdle(time.Hour)
	h.lapse(t)
	if h.control.Lost(numbered(1)) || h.State() != Detached {
		t.Errorf("it is %v and still waits for a node", h.State())
	}
	asked := len(h.backend.asked)
	is(t, "replace", h.control.Replace(t.Context(), numbered(1)), nil)
	if len(h.backend.asked) != asked {
		t.Error("a node was asked for without need")
	}
	h.found(2, 3000)
	if at, _ := h.next(t); at != 3000 || h.State() != Attached {
		t.Errorf("an ID of %d, %v", at, h.State())
	}
}

// TestLostStripes: stripes without a node stop no call while another one has IDs; with all of
// them lost a call waits for the first that has a node again.
func TestLostStripes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStriped(t, 2)
		lose := func(i int) {
			id := s.handles[i].now.Load().gen.id
			s.clock.set(3000)
			if _, held := s.handles[i].control.Lapse(id); held {
				t.Fatal("something is left of the grant")
			}
		}
		lose(0)
		s.handles[1].control.Renewed(s.handles[1].now.Load().gen.id, bridge.Grant{From: 2000, Until: 4000})
		if _, err := s.Next(t.Context()); err != nil || s.State() != Attached || len(s.LogicalNodes()) != 1 {
			t.Fatalf("with one stripe left: %v, %v", s.State(), err)
		}
		s.clock.set(4000)
		if _, held := s.handles[1].control.Lapse(s.handles[1].now.Load().gen.id); held {
			t.Fatal("something is left of the grant")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.Next(ctx)
		is(t, "next with all stripes lost", err, ErrUnavailable, context.DeadlineExceeded)
		if errors.Is(err, ErrDetached) || s.State() != Detached {
			t.Errorf("%v: %v", s.State(), err)
		}
		got := make(chan error, 1)
		go func() {
			_, err := s.Next(t.Context())
			got <- err
		}()
		synctest.Wait()
		s.handles[1].found(77, 4000)
		is(t, "replace", s.handles[1].control.Replace(t.Context(), numbered(1)), nil)
		s.clock.set(4050) // the other stripes are tried again then
		is(t, "next", <-got, nil)
		if st := s.Stats(); st.WaitingNow != 0 {
			t.Errorf("%+v", st)
		}
	})
}

// TestLapseUnderLoad: eight callers take IDs while the handle loses its node, and continue
// with another one. No ID is repeated or missing in the counts, and all IDs of the new node
// are later than those of the old one.
func TestLapseUnderLoad(t *testing.T) {
	const end = 1 << 40
	rounds(t, 100, func(t *testing.T) {
		s := newStorm(t)
		s.clock.now.Store(end)
		if until, held := s.control.Lapse(numbered(1)); held {
			t.Fatalf("it lasts until %d", until)
		}
		s.backend.attach = func(preference) (attachment, error) {
			return attachment{ID: numbered(2), Node: 9, Grant: bridge.Grant{From: 2000, Until: end + 900}}, nil
		}
		is(t, "replace", s.control.Replace(t.Context(), numbered(1)), nil)
		synctest.Wait() // until all is used
		s.control.Close()
		s.check(t, ErrClosed)
		_, old := s.span(0)
		if low, high := s.span(9); low <= old || high < end {
			t.Fatalf("the first node's IDs end at %d, the second one's are from %d to %d", old, low, high)
		}
	})
}
