package client

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestSilentOwner: a renewal that times out is followed by no other call; only the second in
// succession has the client look whether there is another owner, long before its grant ends.
func TestSilentOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		h := create(t, c, "orders")
		owner := f.owner("orders")
		var timeouts []time.Time
		silent := true
		f.hook(func(ctx context.Context, addr, path string, _ any) error {
			var hang bool
			f.set(func() { hang = silent && addr == owner })
			if !hang {
				return nil
			}
			<-ctx.Done()
			if path == wire.PathRenew {
				f.set(func() { timeouts = append(timeouts, time.Now()) })
			}
			return ctx.Err()
		})
		f.set(func() { f.calls = nil })
		time.Sleep(7 * time.Second)
		f.set(func() {
			if len(timeouts) < 1 {
				t.Fatal("no renewal timed out: this shows nothing")
			}
		})
		lookUps := f.made(wire.PathDirectory)
		if len(timeouts) < 2 && len(lookUps) > 0 {
			t.Errorf("%d look-ups after %d time-outs", len(lookUps), len(timeouts))
		}
		for range 1000 {
			if len(f.made(wire.PathDirectory)) > 0 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if lookUps = f.made(wire.PathDirectory); len(lookUps) == 0 || lookUps[0].at.Before(timeouts[1]) {
			t.Fatalf("%d look-ups, not one at the second of %d time-outs", len(lookUps), len(timeouts))
		}
		if left := clustertime.TickOf(h.Stats().GrantUntil).Sub(f.now()); left < 4000 {
			t.Errorf("%d ms are left of the grant when the owner is looked for", left)
		}
		f.set(func() { f.calls = nil })
		time.Sleep(30 * time.Second)
		if n := len(f.made(wire.PathDirectory)); n > 30/3*3 {
			t.Errorf("%d look-ups in 30 s of a silent owner", n)
		}
		f.move((slices.Index(f.members, owner) + 1) % len(f.members))
		time.Sleep(5 * time.Second)
		works(t, h)
	})
}

// TestUrgentLookUpHurries: a look-up that no call waits for gives a silent member the time of a
// whole call; as soon as a call waits for it, it asks the next member.
func TestUrgentLookUpHurries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		for first := range f.members { // members are asked in rotation
			asked := 0
			f.hook(func(ctx context.Context, _, _ string, _ any) error {
				var hang bool
				f.set(func() { hang = asked == 0; asked++ })
				if !hang {
					return nil
				}
				<-ctx.Done()
				return ctx.Err()
			})
			background, began := make(chan struct{}), c.clock.Mono()
			go func() {
				defer close(background)
				_ = c.lookUp(t.Context(), began, false)
			}()
			time.Sleep(time.Second)
			f.set(func() {
				if asked != 1 {
					t.Fatalf("%d members were asked while no call waits", asked)
				}
			})
			called := time.Now()
			if err := c.lookUp(t.Context(), c.clock.Mono(), true); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(called); took > 10*time.Millisecond {
				t.Errorf("member %d: a call had a directory after %v", first, took)
			}
			<-background
		}
	})
}
