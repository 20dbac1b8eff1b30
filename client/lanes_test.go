package client

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/snowgrid/snowgrid/grid/wire"
)

// TestLanes: of calls of one kind to one member a few are under way at once; the rest
// come as those end, or give up with their contexts. Others, and renewals, do not wait.
func TestLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lanes
		var inside, ended atomic.Int32
		end := make(chan struct{})
		impatient, giveUp := context.WithCancel(t.Context())
		call := func(ctx context.Context, addr, path string) {
			done, err := l.enter(ctx, addr, path)
			if err != nil {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", path, err)
				}
				ended.Add(1)
				return
			}
			inside.Add(1)
			<-end
			done()
			inside.Add(-1)
			ended.Add(1)
		}
		started := int32(0)
		see := func(when string, n int, ctx context.Context, addr, path string, want int32) {
			t.Helper()
			for range n {
				go call(ctx, addr, path)
			}
			started += int32(n)
			if synctest.Wait(); inside.Load() != want {
				t.Fatalf("%s: %d calls are under way, want %d", when, inside.Load(), want)
			}
		}
		see("attaches", 2*laneWidth, t.Context(), "m1", wire.PathAttach, laneWidth)
		see("attaches that give up", laneWidth, impatient, "m1", wire.PathAttach, laneWidth)
		see("attaches elsewhere", 1, t.Context(), "m2", wire.PathAttach, laneWidth+1)
		see("creates", 1, t.Context(), "m1", wire.PathCreate, laneWidth+2)
		see("renewals", 2*laneWidth, t.Context(), "m1", wire.PathRenew, 3*laneWidth+2)
		giveUp()
		if synctest.Wait(); ended.Load() != laneWidth {
			t.Errorf("%d gave up, want %d", ended.Load(), laneWidth)
		}
		end <- struct{}{}
		close(end)
		if synctest.Wait(); ended.Load() != started || len(l.of) != 0 {
			t.Errorf("%d of %d ended; %d lanes are left", ended.Load(), started, len(l.of))
		}
	})
}
