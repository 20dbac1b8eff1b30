package calls

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/frames"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestCallsInProgress: of calls that a member may be slow to decide a few run concurrently; the
// rest follow as those end, or give up with their contexts. Destroys leave places to the detaches
// that they wait for, replication has its own places, and renewals do not wait at all.
func TestCallsInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l limiter
		var inside, ended atomic.Int32
		end := make(chan struct{})
		impatient, giveUp := context.WithCancel(t.Context())
		call := func(ctx context.Context, addr, path string) {
			defer ended.Add(1)
			done, err := l.turn(ctx, addr, path)
			if err != nil {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", path, err)
				}
				return
			}
			inside.Add(1)
			<-end
			done()
			inside.Add(-1)
		}
		started, running := int32(0), int32(0)
		see := func(when string, n int, ctx context.Context, addr, path string, more int) {
			t.Helper()
			for range n {
				go call(ctx, addr, path)
			}
			started += int32(n)
			running += int32(more)
			if synctest.Wait(); inside.Load() != running {
				t.Fatalf("%s: %d calls in progress, want %d", when, inside.Load(), running)
			}
		}
		most, half := widths[decided], widths[destroys]
		see("attaches", 3*most, t.Context(), "m1", wire.PathAttach, most)
		see("attaches that give up", most, impatient, "m1", wire.PathAttach, 0)
		see("attaches elsewhere", 1, t.Context(), "m2", wire.PathAttach, 1)
		see("creates", 1, t.Context(), "m1", wire.PathCreate, 0)
		see("destroys", 2*most, t.Context(), "m3", wire.PathDestroy, half)
		see("destroys that give up", 1, impatient, "m3", wire.PathDestroy, 0)
		see("detaches beside destroys", 2*most, t.Context(), "m3", wire.PathDetach, most-half)
		see("a destroy that waits for attaches and gives up", 1, impatient, "m1", wire.PathDestroy, 0)
		see("replication", 2*widths[replication], t.Context(), "m1", wire.PathReplicate, widths[replication])
		see("renewals", most, t.Context(), "m1", wire.PathRenew, most)
		giveUp()
		if synctest.Wait(); ended.Load() != int32(most+2) {
			t.Errorf("%d gave up, want %d", ended.Load(), most+2)
		}
		close(end)
		if synctest.Wait(); ended.Load() != started || l.turns.Len() != 0 {
			t.Errorf("%d of %d ended; %d semaphores are left", ended.Load(), started, l.turns.Len())
		}
	})
}

// TestCallsFitOneConnection: a process's limited calls leave half of a connection to others, and
// destroys half of the places to detaches.
func TestCallsFitOneConnection(t *testing.T) {
	if n := widths[decided] + widths[replication]; n > frames.StreamsMax/2 {
		t.Errorf("%d calls on a connection that serves %d", n, frames.StreamsMax)
	}
	if n := widths[decided] + widths[replication] + widths[relayed]; n > frames.StreamsMax*3/4 {
		t.Errorf("%d calls with relayed renewals on a connection that serves %d", n, frames.StreamsMax)
	}
	if widths[destroys] > widths[decided]/2 {
		t.Errorf("%d destroys, and the detaches that they wait for, have %d places", widths[destroys], widths[decided])
	}
}

// TestRelayedRenewalsDoNotWait: a renewal that is relayed to an owner has a place while first requests, which the
// owner is slow to decide, have all of theirs.
func TestRelayedRenewalsDoNotWait(t *testing.T) {
	var l limiter
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for range widths[decided] {
		done, err := l.turn(ctx, "a:1", wire.PathRelayGrant)
		if err != nil {
			t.Fatal(err)
		}
		defer done()
	}
	done, err := l.turn(ctx, "a:1", wire.PathRelayRenewal)
	if err != nil {
		t.Fatalf("a renewal beside %d first requests: %v", widths[decided], err)
	}
	done()
}
