package client

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// errDenied and errUnknown are the answers of members to a process that may not make a call.
var (
	errDenied  = fmt.Errorf("%w: the caller is a reader", security.ErrDenied)
	errUnknown = fmt.Errorf("%w: the token has ended", security.ErrUnauthenticated)
)

// TestDeniedCallIsNotRetried: no call is repeated that a member denied, on whichever path.
func TestDeniedCallIsNotRetried(t *testing.T) {
	for _, denial := range []error{errDenied, errUnknown} {
		for _, path := range []string{wire.PathCreate, wire.PathAttach, wire.PathOpen, wire.PathDestroy} {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				c := f.dial(t)
				create(t, c, "there")
				f.older = path == wire.PathAttach
				var tries atomic.Int32
				f.hook(func(_ context.Context, _, at string, _ any) error {
					if at == path {
						tries.Add(1)
						return denial
					}
					return nil
				})
				began := time.Now()
				var err error
				if path == wire.PathDestroy || path == wire.PathOpen {
					err = c.DestroySequencer(t.Context(), "there")
				} else {
					_, err = c.CreateSequencer(t.Context(), "orders", sequencer.Config{})
				}
				if wants(t, err, denial); time.Since(began) > 0 || tries.Load() != 1 {
					t.Errorf("%s: after %v and %d calls", path, time.Since(began), tries.Load())
				}
			})
		}
	}
}

// TestDeniedDial: a process that may not see the directory is told so immediately, also by a look
// at it that a later call needs.
func TestDeniedDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		began := time.Now()
		f.hook(func(_ context.Context, _, path string, _ any) error {
			if path == wire.PathDirectory {
				return errUnknown
			}
			return sequencer.ErrUnavailable
		})
		_, err := Dial(t.Context(), Config{Addrs: []string{"a:1"}, parts: calls.Parts{Transport: f}})
		wants(t, err, security.ErrUnauthenticated)
		_, err = c.CreateSequencer(t.Context(), "orders", sequencer.Config{})
		wants(t, err, security.ErrUnauthenticated)
		if passed := time.Since(began); passed > time.Second {
			t.Errorf("it took %v", passed)
		}
	})
}

// TestDeniedRenewals: a handle whose renewals are denied keeps its grant to the end. Then its
// calls return the reason immediately, renewals are tried every few seconds, and the first one
// that is allowed has the handle work again.
func TestDeniedRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		h := create(t, c, "orders")
		other := create(t, c, "carts")
		var tries atomic.Int32
		f.hook(func(_ context.Context, _, path string, _ any) error {
			if path == wire.PathRenew {
				tries.Add(1)
				return errDenied
			}
			return nil
		})
		until := clustertime.TickOf(h.Stats().GrantUntil).Sub(f.now()).Duration()
		time.Sleep(until - time.Second)
		works(t, h)
		time.Sleep(2 * time.Second)
		began := time.Now()
		for _, h := range []*sequencer.Sequencer{h, other} {
			_, err := h.Next(t.Context())
			if wants(t, err, security.ErrDenied, sequencer.ErrGrantExpired); time.Since(began) > 0 {
				t.Errorf("it took %v", time.Since(began))
			}
		}
		tries.Store(0)
		time.Sleep(time.Minute)
		if n := tries.Load(); n < 20 || n > 32 { // at two owners
			t.Errorf("%d renewals in a minute", n)
		}
		f.hook(nil)
		time.Sleep(6 * time.Second)
		works(t, h)
		if _, err := other.Next(t.Context()); err != nil || errors.Is(err, security.ErrDenied) {
			t.Errorf("allowed again: %v", err)
		}
	})
}
