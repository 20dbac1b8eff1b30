package sequencer

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment/bridge"
	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// is fails unless err matches all of the wanted errors, nil meaning none.
func is(t testing.TB, what string, err error, want ...error) {
	t.Helper()
	for _, w := range want {
		if w == nil && err != nil || !errors.Is(err, w) {
			t.Errorf("%s: %v, want %v", what, err, w)
		}
	}
}

// TestStates checks the effect of each call in each state, and the following state.
func TestStates(t *testing.T) {
	reach := map[string]func(*handle){
		"new":       func(*handle) {},
		"attached":  func(h *handle) { _ = h.AttachLogicalNode(t.Context()) },
		"detached":  func(h *handle) { _ = h.AttachLogicalNode(t.Context()); _ = h.DetachLogicalNode(t.Context()) },
		"destroyed": func(h *handle) { _ = h.AttachLogicalNode(t.Context()); _ = h.Destroy(t.Context()) },
		"told":      func(h *handle) { _ = h.AttachLogicalNode(t.Context()); h.control.Destroy() },
		"closed":    func(h *handle) { _ = h.AttachLogicalNode(t.Context()); h.control.Close() },
	}
	calls := map[string]func(*handle) error{
		"attach":  func(h *handle) error { return h.AttachLogicalNode(t.Context()) },
		"detach":  func(h *handle) error { return h.DetachLogicalNode(t.Context()) },
		"destroy": func(h *handle) error { return h.Destroy(t.Context()) },
		"next":    func(h *handle) error { _, err := h.Next(t.Context()); return err },
		"fill":    func(h *handle) error { _, err := h.Fill(t.Context(), make([]ID, 2)); return err },
		"idle":    func(h *handle) error { return h.control.DetachIdle(t.Context()) },
	}
	for _, c := range []struct {
		from, call string
		want       error
		then       State
	}{
		{"new", "attach", nil, Attached}, {"new", "detach", ErrDetached, Detached}, {"new", "destroy", nil, Destroyed},
		{"new", "next", ErrDetached, Detached}, {"new", "fill", ErrDetached, Detached},
		{"new", "idle", ErrDetached, Detached},
		{"attached", "attach", ErrAttached, Attached}, {"attached", "detach", nil, Detached},
		{"attached", "destroy", nil, Destroyed},
		{"attached", "next", nil, Attached}, {"attached", "fill", nil, Attached}, {"attached", "idle", nil, Detached},
		{"detached", "attach", nil, Attached}, {"detached", "detach", ErrDetached, Detached},
		{"detached", "destroy", nil, Destroyed},
		{"detached", "next", ErrDetached, Detached}, {"detached", "fill", ErrDetached, Detached},
		{"detached", "idle", ErrDetached, Detached},
		{"destroyed", "attach", ErrDestroyed, Destroyed}, {"destroyed", "detach", ErrDestroyed, Destroyed},
		{"destroyed", "destroy", nil, Destroyed},
		{"destroyed", "next", ErrDestroyed, Destroyed}, {"destroyed", "fill", ErrDestroyed, Destroyed},
		{"destroyed", "idle", ErrDestroyed, Destroyed},
		{"told", "attach", ErrDestroyed, Destroyed}, {"told", "detach", ErrDestroyed, Destroyed},
		{"told", "destroy", nil, Destroyed},
		{"told", "next", ErrDestroyed, Destroyed},
		{"closed", "attach", ErrClosed, Detached}, {"closed", "detach", ErrClosed, Detached},
		{"closed", "destroy", ErrClosed, Detached},
		{"closed", "next", ErrClosed, Detached}, {"closed", "fill", ErrClosed, Detached},
		{"closed", "idle", ErrClosed, Detached},
	} {
		h := newHandle(t)
		reach[c.from](h)
		is(t, c.from+" "+c.call, calls[c.call](h), c.want)
		if node, attached := h.LogicalNode(); h.State() != c.then || attached != (c.then == Attached) || node != 0 {
			t.Errorf("%s %s: %v with node %d, %v; want %v", c.from, c.call, h.State(), node, attached, c.then)
		}
		if a, held := h.control.Held(); held != (c.then == Attached) || held == a.ID.IsZero() {
			t.Errorf("%s %s: %v is held: %v", c.from, c.call, a, held)
		}
	}
}

// TestFailedAttachLeavesDetached, and tells the life's end on.
func TestFailedAttachLeavesDetached(t *testing.T) {
	h := newHandle(t)
	for _, fault := range []error{ErrNoFreeNode, ErrUnavailable} {
		h.backend.attach = func(preference) (attachment, error) { return attachment{}, fault }
		is(t, "attach", h.AttachLogicalNode(t.Context()), fault)
		_, err := h.Next(t.Context())
		is(t, "next", err, ErrDetached)
	}
	if h.State() != Detached {
		t.Errorf("%v", h.State())
	}
	h.backend.attach = nil
	is(t, "attach", h.AttachLogicalNode(t.Context()), nil)
	_ = h.DetachLogicalNode(t.Context())
	h.backend.attach = func(preference) (attachment, error) { return attachment{}, ErrDestroyed }
	is(t, "attach", h.AttachLogicalNode(t.Context()), ErrDestroyed)
	if h.State() != Destroyed {
		t.Errorf("%v", h.State())
	}
}

// TestFailedDetachDetaches: the node is given up whatever the backend answers.
func TestFailedDetachDetaches(t *testing.T) {
	h := attachedHandle(t)
	h.backend.detach = func(release) error { return ErrUnavailable }
	is(t, "detach", h.DetachLogicalNode(t.Context()), ErrUnavailable)
	is(t, "detach", h.DetachLogicalNode(t.Context()), ErrDetached)
	if h.State() != Detached || len(h.backend.released) != 1 {
		t.Errorf("%v after %v", h.State(), h.backend.released)
	}
}

// TestFailedDestroyChangesNothing; a name that is gone already is destroyed.
func TestFailedDestroyChangesNothing(t *testing.T) {
	h := attachedHandle(t)
	h.backend.destroy = func() error { return ErrUnavailable }
	is(t, "destroy", h.Destroy(t.Context()), ErrUnavailable)
	h.next(t)
	for _, gone := range []error{ErrNotFound, ErrDestroyed} {
		h := attachedHandle(t)
		h.backend.destroy = func() error { return gone }
		is(t, "destroy", h.Destroy(t.Context()), nil)
		is(t, "destroy", h.Destroy(t.Context()), nil)
		if h.State() != Destroyed || h.backend.ended != 1 {
			t.Errorf("%v after %d calls", h.State(), h.backend.ended)
		}
	}
}

// TestEndDuringAttach: the handle ends permanently while an attach is in progress.
func TestEndDuringAttach(t *testing.T) {
	h := newHandle(t)
	h.backend.attach = func(preference) (attachment, error) {
		h.control.Close()
		return attachment{ID: numbered(1), Grant: h.backend.grant}, nil
	}
	is(t, "attach", h.AttachLogicalNode(t.Context()), ErrClosed)
	if a, held := h.control.Held(); held || h.State() != Detached {
		t.Errorf("%v, %v", a, h.State())
	}
	h = attachedHandle(t)
	h.backend.attach = func(preference) (attachment, error) {
		h.control.Destroy()
		return attachment{ID: numbered(2), Grant: h.backend.grant}, nil
	}
	is(t, "replace", h.control.Replace(t.Context(), numbered(1)), ErrDestroyed)
	if a, held := h.control.Held(); held || h.State() != Destroyed {
		t.Errorf("%v, %v", a, h.State())
	}
}

// TestRelease: every kind of release reports the last used timestamp, and the next
// attachment requests the same node and starts above it.
func TestRelease(t *testing.T) {
	h := attachedHandle(t)
	if got := h.backend.asked[0]; !got.Any {
		t.Errorf("the first attach prefers %v", got)
	}
	is(t, "detach", h.DetachLogicalNode(t.Context()), nil)
	if got := h.backend.released[0]; got != (release{ID: numbered(1)}) {
		t.Errorf("unused: %v", got)
	}
	h.backend.attach = func(p preference) (attachment, error) {
		return attachment{ID: numbered(2), Node: 7, Grant: bridge.Grant{From: 1500, Until: 3000}}, nil
	}
	_ = h.AttachLogicalNode(t.Context())
	h.clock.set(2100)
	h.next(t)
	h.clock.set(2200)
	_ = h.control.DetachIdle(t.Context())
	if got := h.backend.released[1]; got != (release{ID: numbered(2), Node: 7, LastUsed: 2100}) {
		t.Errorf("used up to 2100: %v", got)
	}
	h.clock.set(2100)
	_ = h.AttachLogicalNode(t.Context())
	if got := h.backend.asked[2]; got != (preference{Node: 7}) {
		t.Errorf("the next attach prefers %v", got)
	}
	if rel, held := h.control.Close(); !held || rel != (release{ID: numbered(2), Node: 7}) {
		t.Errorf("unused since: %v, %v", rel, held)
	}
	if rel, held := h.control.Close(); held {
		t.Errorf("closed twice: %v", rel)
	}
	h = attachedHandle(t)
	h.next(t)
	if rel, held := h.control.Destroy(); !held || rel.LastUsed != 2000 {
		t.Errorf("destroyed: %v, %v", rel, held)
	}
	if rel, held := h.control.Close(); held || h.State() != Destroyed {
		t.Errorf("closed after destroyed: %v, %v", rel, h.State())
	}
}

// TestTimestampsAscendOverAttachments: time does not advance over detach and attach,
// several times, also over an attachment that was never used.
func TestTimestampsAscendOverAttachments(t *testing.T) {
	h := newHandle(t)
	for i := range clustertime.Tick(5) {
		_ = h.AttachLogicalNode(t.Context())
		switch i {
		case 2:
			_ = h.DetachLogicalNode(t.Context())
			_ = h.AttachLogicalNode(t.Context())
		case 3:
			_ = h.control.Replace(t.Context(), numbered(len(h.backend.asked)))
		}
		if _, err := h.Next(ended(t)); i > 0 {
			is(t, "next in the same millisecond", err, context.Canceled)
			h.clock.set(2000 + i)
		}
		if at, counter := h.next(t); at != 2000+i || i > 0 && counter != 0 {
			t.Errorf("attachment %d starts at %d with %d", i, at, counter)
		}
		if i%2 == 0 {
			_ = h.DetachLogicalNode(t.Context())
		} else {
			_ = h.control.DetachIdle(t.Context())
		}
	}
}

// ended returns a context that is over.
func ended(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// TestAnswersForEarlierAttachmentsAreIgnored.
func TestAnswersForEarlierAttachmentsAreIgnored(t *testing.T) {
	h := attachedHandle(t)
	_ = h.DetachLogicalNode(t.Context())
	h.control.Renewed(numbered(1), bridge.Grant{From: 2000, Until: 9000})
	_ = h.AttachLogicalNode(t.Context())
	h.control.Renewed(numbered(1), bridge.Grant{From: 2000, Until: 9000})
	is(t, "replace", h.control.Replace(t.Context(), numbered(1)), nil)
	if a, _ := h.control.Held(); a.ID != numbered(2) || a.Grant != h.backend.grant || len(h.backend.asked) != 2 {
		t.Errorf("%v is held after %d attaches", a, len(h.backend.asked))
	}
	h.control.Renewed(numbered(2), bridge.Grant{From: 2000, Until: 9000})
	if a, _ := h.control.Held(); a.Grant.Until != 9000 {
		t.Errorf("%v is held", a)
	}
	_ = h.DetachLogicalNode(t.Context())
	is(t, "replace", h.control.Replace(t.Context(), numbered(2)), nil)
	if h.State() != Detached || len(h.backend.asked) != 2 {
		t.Errorf("replaced after a detach: %v", h.State())
	}
}

// TestReleaseDuringNextIssuesNoID: the attachment is released after a call of Next has found it
// and before the call takes its ID. The call takes no ID of it, not even when a grant
// arrives late.
func TestReleaseDuringNextIssuesNoID(t *testing.T) {
	for name, c := range map[string]struct {
		giveUp func(*handle)
		want   error
	}{
		"detach":  {func(h *handle) { _ = h.DetachLogicalNode(t.Context()) }, ErrDetached},
		"close":   {func(h *handle) { h.control.Close() }, ErrClosed},
		"destroy": {func(h *handle) { h.control.Destroy() }, ErrDestroyed},
		"replace": {func(h *handle) { _ = h.control.Replace(t.Context(), numbered(1)) }, nil},
	} {
		h := attachedHandle(t)
		h.next(t)
		h.backend.attach = func(preference) (attachment, error) {
			return attachment{ID: numbered(2), Node: 9, Grant: h.backend.grant}, nil
		}
		h.clock.set(2100)
		now := h.clock.reads.Load() + 1
		h.clock.onRead = func(n int64) {
			if n == now {
				c.giveUp(h)
				h.control.Renewed(numbered(1), bridge.Grant{From: 2000, Until: 9000})
			}
		}
		id, err := h.Next(t.Context())
		is(t, name, err, c.want)
		if p := h.Definition().Decompose(id); err == nil && p.Node != 9 {
			t.Errorf("%s: node %d, which was given up, has an ID at %v", name, p.Node, p.Time)
		}
		for _, rel := range h.backend.released {
			if rel.LastUsed != 2000 {
				t.Errorf("%s: used up to %d", name, rel.LastUsed)
			}
		}
	}
}

// TestIdle: a detach is due when no ID was made for as long as was asked for.
func TestIdle(t *testing.T) {
	h := newHandle(t)
	idleAt := func(now clustertime.Tick, want bool) {
		t.Helper()
		if got := h.control.Idle(now); got != want {
			t.Errorf("at %d: %v", now, got)
		}
	}
	h.DetachWhenIdle(50 * time.Millisecond)
	idleAt(9000, false) // nothing attached
	_ = h.AttachLogicalNode(t.Context())
	idleAt(2049, false)
	idleAt(2050, true) // never used, since its start
	h.clock.set(2040)
	h.next(t)
	idleAt(2089, false)
	idleAt(2090, true)
	h.DetachWhenIdle(time.Microsecond)
	idleAt(2040, false)
	idleAt(2041, true)
	for _, never := range []time.Duration{0, -time.Second} {
		h.DetachWhenIdle(never)
		idleAt(1<<50, false)
	}
}

// TestLastUsed: it is that of the named attachment only.
func TestLastUsed(t *testing.T) {
	h := newHandle(t)
	_ = h.AttachLogicalNode(t.Context())
	a, _ := h.control.Held()
	if used := h.control.LastUsed(a.ID); used != 0 {
		t.Errorf("used %d before the first ID", used)
	}
	h.clock.set(2040)
	h.next(t)
	if used := h.control.LastUsed(a.ID); used != 2040 {
		t.Errorf("used %d, not 2040", used)
	}
	if used := h.control.LastUsed(bridge.ID{9}); used != 0 {
		t.Errorf("another attachment used %d", used)
	}
}

// TestNextRevivesAnIdleHandle, and one that was never attached if it may be
// detached when idle; none that its user detached.
func TestNextRevivesAnIdleHandle(t *testing.T) {
	h := newHandle(t)
	h.DetachWhenIdle(time.Second)
	h.next(t)
	is(t, "idle", h.control.DetachIdle(t.Context()), nil)
	h.DetachWhenIdle(0)
	h.clock.set(2001)
	if at, _ := h.next(t); at != 2001 || len(h.backend.asked) != 2 {
		t.Errorf("at %d after %d attaches", at, len(h.backend.asked))
	}
	_ = h.control.DetachIdle(t.Context())
	is(t, "detach", h.DetachLogicalNode(t.Context()), ErrDetached) // it is now by its user
	h.DetachWhenIdle(time.Second)
	_, err := h.Next(t.Context())
	is(t, "next", err, ErrDetached)
	is(t, "attach", h.AttachLogicalNode(t.Context()), nil)
	h.control.Close()
	_, err = h.Next(t.Context())
	is(t, "next", err, ErrClosed)
}

// TestFill: IDs ascend, also across milliseconds; a failed call returns the IDs it got.
func TestFill(t *testing.T) {
	h := attachedHandle(t)
	dst := make([]ID, 3000)
	n, err := h.Fill(ended(t), dst)
	is(t, "fill", err, context.Canceled)
	if n != 1024 || h.Stats().IDs != 1024 {
		t.Fatalf("%d IDs, %+v", n, h.Stats())
	}
	h.clock.set(2010)
	if n, err := h.Fill(t.Context(), dst[n:n+300]); n != 300 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	for i := 1; i < 1324; i++ {
		if dst[i] <= dst[i-1] {
			t.Fatalf("%d after %d", dst[i], dst[i-1])
		}
	}
	if n, err := h.Fill(ended(t), nil); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	h.clock.set(1000 + 1<<40)
	h.control.Renewed(numbered(1), bridge.Grant{From: 2000, Until: 1 << 41})
	n, err = h.Fill(t.Context(), dst)
	is(t, "fill", err, ErrEpochExhausted)
	_, err = h.Next(t.Context())
	is(t, "next", err, ErrEpochExhausted)
	if n != 0 {
		t.Errorf("%d IDs beyond the end", n)
	}
}

func TestNextDoesNotAllocate(t *testing.T) {
	clock := &runningClock{}
	clock.now.Store(2000)
	s, _ := newSequencer(define(t, 8192), bridge.Life{1},
		&fakeBackend{grant: bridge.Grant{From: 2000, Until: 1 << 40}}, clock)
	if err := s.AttachLogicalNode(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(1000, func() { _, _ = s.Next(t.Context()) }); n != 0 {
		t.Errorf("%v allocations an ID", n)
	}
}
