package calls

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/snowgrid/snowgrid/internal/frames"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestLanes: of calls that a member may be slow to decide a few run concurrently on each of
// two connections to one member; the rest follow as those end, or give up with their
// contexts. Replication has its own connection, and renewals do not wait at all.
func TestLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHTTP(nil, nil)
		var inside, ended atomic.Int32
		var on [lines]atomic.Int32 // at m1
		end := make(chan struct{})
		impatient, giveUp := context.WithCancel(t.Context())
		call := func(ctx context.Context, addr, path string) {
			line, done, err := h.turn(ctx, addr, path)
			if err != nil {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", path, err)
				}
				ended.Add(1)
				return
			}
			inside.Add(1)
			if addr == "m1" {
				on[line].Add(1)
			}
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
				t.Fatalf("%s: %d calls in progress, want %d", when, inside.Load(), want)
			}
		}
		see("attaches", connectionCalls, t.Context(), "m1", wire.PathAttach, connectionCalls)
		if on[decided].Load() != connectionCalls {
			t.Errorf("%d of %d calls are on the first connection", on[decided].Load(), connectionCalls)
		}
		see("more attaches", 2*connectionCalls, t.Context(), "m1", wire.PathAttach, 2*connectionCalls)
		see("attaches that give up", connectionCalls, impatient, "m1", wire.PathAttach, 2*connectionCalls)
		see("attaches elsewhere", 1, t.Context(), "m2", wire.PathAttach, 2*connectionCalls+1)
		see("destroys", 2*connectionCalls, t.Context(), "m3", wire.PathDestroy, 3*connectionCalls+1)
		see("detaches beside destroys", 1, t.Context(), "m3", wire.PathDetach, 3*connectionCalls+2)
		see("creates", 1, t.Context(), "m1", wire.PathCreate, 3*connectionCalls+2)
		see("replication", 2*connectionCalls, t.Context(), "m1", wire.PathReplicate, 4*connectionCalls+2)
		see("renewals", 2*connectionCalls, t.Context(), "m1", wire.PathRenew, 6*connectionCalls+2)
		for line, want := range []int32{vital: 2 * connectionCalls, decided: connectionCalls, overflow: connectionCalls,
			replication: connectionCalls} {
			if n := on[line].Load(); n != want {
				t.Errorf("line %d has %d calls, want %d", line, n, want)
			}
		}
		giveUp()
		if synctest.Wait(); ended.Load() != connectionCalls {
			t.Errorf("%d gave up, want %d", ended.Load(), connectionCalls)
		}
		end <- struct{}{}
		close(end)
		if synctest.Wait(); ended.Load() != started || len(h.calls.of) != 0 {
			t.Errorf("%d of %d ended; %d semaphores are left", ended.Load(), started, len(h.calls.of))
		}
	})
}

// TestLanesOfFrames: more calls run concurrently on a connection in frames, and with all others
// that a process makes to a member they are not more than that serves.
func TestLanesOfFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHTTP(nil, nil)
		near, far := net.Pipe()
		open := &attempt{done: make(chan struct{}), conn: frames.NewClient(near, near, nil)}
		close(open.done)
		h.lines.of = map[string]*framedLine{"m1": {attempt: open}}
		ctx, giveUp := context.WithCancel(t.Context())
		inside := func(addr string) (n int) {
			var running atomic.Int32
			for range 4 * framedCalls {
				go func() {
					if _, _, err := h.turn(ctx, addr, wire.PathAttach); err == nil {
						running.Add(1)
					}
				}()
			}
			synctest.Wait()
			return int(running.Load())
		}
		if n := inside("m1"); n != 2*framedCalls || 2*framedCalls+connectionCalls > frames.StreamsMax/2 {
			t.Errorf("%d calls in frames are in progress, want %d", n, 2*framedCalls)
		}
		if n := inside("m2"); n != 2*connectionCalls {
			t.Errorf("%d calls over HTTP are in progress, want %d", n, 2*connectionCalls)
		}
		giveUp()
		open.conn.Close()
		_ = far.Close()
	})
}
