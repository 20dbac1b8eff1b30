package sequencer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/snowgrid/snowgrid/internal/attachment/bridge"
)

// TestRefusedRenewal: a handle whose renewals are refused uses what it was granted; then its
// calls return the reason without a wait, until it is renewed after all.
func TestRefusedRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("denied")
		h := attachedHandle(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		h.control.Refuse(numbered(2), cause) // of an attachment that it does not have
		h.clock.set(3000)
		waiting := h.goNext(ctx)
		waits(t, waiting)
		h.control.Refuse(numbered(1), cause)
		if r := <-waiting; !errors.Is(r.err, cause) || !errors.Is(r.err, ErrGrantExpired) {
			t.Errorf("a call that waited: %v", r.err)
		}
		if _, err := h.Next(ctx); !errors.Is(err, cause) {
			t.Errorf("after the grant: %v", err)
		}
		if n, err := h.Fill(ctx, make([]ID, 3)); n != 0 || !errors.Is(err, cause) {
			t.Errorf("Fill after the grant: %d, %v", n, err)
		}
		h.control.Renewed(numbered(1), bridge.Grant{From: 3100, Until: 4000})
		waiting = h.goNext(ctx)
		waits(t, waiting) // for the beginning of the grant
		h.clock.set(3100)
		if r := <-waiting; r.err != nil {
			t.Errorf("renewed: %v", r.err)
		}
		h.control.Refuse(numbered(1), cause)
		if _, err := h.Next(ctx); err != nil {
			t.Errorf("within the grant: %v", err)
		}
		h.control.Renewed(numbered(1), bridge.Grant{From: 5000, Until: 6000})
		h.control.Refuse(numbered(1), cause)
		h.clock.set(4500)
		waiting = h.goNext(ctx)
		waits(t, waiting) // the next grant is there already
		h.clock.set(5000)
		if r := <-waiting; r.err != nil {
			t.Errorf("in the next grant: %v", r.err)
		}
		h.clock.set(6000)
		_ = h.control.DetachIdle(ctx)
		waiting = h.goNext(ctx)
		waits(t, waiting) // another attachment is not refused
		cancel()
		if r := <-waiting; !errors.Is(r.err, context.Canceled) || errors.Is(r.err, cause) {
			t.Errorf("another attachment: %v", r.err)
		}
	})
}

// TestRefusedStripes: a handle of several logical nodes continues with those that are renewed,
// and returns the reason when none is.
func TestRefusedStripes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("denied")
		a, b := attachedHandle(t), attachedHandle(t)
		s, err := newStripedOver([]*Sequencer{a.Sequencer, b.Sequencer}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range []*handle{a, b} {
			h.clock.set(3000)
		}
		a.control.Refuse(numbered(1), cause)
		b.control.Renewed(numbered(1), bridge.Grant{From: 3000, Until: 4000})
		for range 4 {
			if _, err := s.Next(t.Context()); err != nil {
				t.Fatalf("one of two is refused: %v", err)
			}
		}
		for _, h := range []*handle{a, b} {
			h.clock.set(4000)
		}
		b.control.Refuse(numbered(1), cause)
		if _, err := s.Next(t.Context()); !errors.Is(err, cause) || !errors.Is(err, ErrGrantExpired) {
			t.Errorf("both are refused: %v", err)
		}
	})
}
