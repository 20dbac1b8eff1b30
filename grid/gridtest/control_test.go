package gridtest_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/sequencer"
)

// aloneMin is the minimum time for which holders continue without renewals.
const aloneMin = 9 * time.Second

// TestOthersPaused: all members but one are silent, whichever it is. That one's
// handles, and a client's, continue for the promised time.
func TestOthersPaused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 3, nil)
		ids := newChecker(t)
		client := c.g.Client("c1")
		for _, left := range c.g.Running() {
			leads, owns := c.g.Leader() == left, c.g.OwnerOf("orders") == left
			handles := map[string]*sequencer.Sequencer{
				"the member":      create(t, c.g.Member(left), "orders", 0),
				"a client":        create(t, client, "orders", 0),
				"another's owner": create(t, c.g.Member(left), "users", 0),
			}
			time.Sleep(5 * time.Second)
			for _, name := range c.g.Running() {
				if name != left {
					c.g.Network.Pause(name)
				}
			}
			went := goOn(t, ids, handles)
			for _, name := range c.g.Running() {
				c.g.Network.Resume(name)
			}
			full := awaitFull(t, c.g, time.Minute)
			t.Logf("%s alone (leads: %v, owns: %v): went on for %v; full %v after", left, leads, owns, went, full)
			for who, d := range went {
				if d < aloneMin || d > 17*time.Second {
					t.Errorf("%s went on for %v, want %v to about the window", who, d, aloneMin)
				}
			}
		}
	})
}

// goOn returns for how long each handle went on.
func goOn(t *testing.T, ids *checker, handles map[string]*sequencer.Sequencer) map[string]time.Duration {
	began := time.Now()
	went := map[string]time.Duration{}
	callers := map[string]*caller{}
	for who := range handles {
		callers[who] = ids.caller(who)
	}
	for ; len(went) < len(handles) && time.Since(began) < time.Minute; time.Sleep(100 * time.Millisecond) {
		for who, s := range handles {
			if went[who] > 0 {
				continue
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if _, err := callers[who].next(ctx, s); err != nil {
				want(t, who, err, sequencer.ErrGrantExpired, context.DeadlineExceeded)
				went[who] = time.Since(began)
			}
			cancel()
		}
	}
	return went
}

// TestManyCreatesAtStart: a process creates all its sequencers concurrently at its start,
// before its connections know the limit of concurrent calls. No create waits for that. With
// security on there are fewer than a certificate may create in a burst.
func TestManyCreatesAtStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true, Delay: 5 * time.Millisecond})
		c := g.Client("c1")
		n := 500
		if *secure {
			n = 90
		}
		began := time.Now()
		var creating sync.WaitGroup
		for _, name := range several(n) {
			creating.Go(func() { create(t, c, name, 0) })
		}
		creating.Wait()
		if took := time.Since(began); took > time.Second {
			t.Errorf("%d concurrent creates took %v", n, took)
		} else {
			t.Logf("%d concurrent creates took %v", n, took)
		}
	})
}
