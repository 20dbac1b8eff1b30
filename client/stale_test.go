package client

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/session"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestStaleAnswers: an answer to a request sent long ago gives no time.
func TestStaleAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		c.clock.Forget()
		began := c.clock.Mono()
		time.Sleep(session.StaleAnswer + time.Millisecond)
		stamp := wire.Stamp{Grid: f.stamp.Grid, Version: f.stamp.Version, Time: f.now()}
		c.stamped(stamp, began)
		if c.clock.Now() != 0 {
			t.Error("a stale answer gives the time")
		}
		c.stamped(wire.Stamp{Grid: roster.GridID{9}, Version: 1, Time: 7}, began+2*time.Millisecond)
		if c.clock.Now() == 7 {
			t.Error("another grid gives the time")
		}
		synctest.Wait() // until the directory has been looked at
		c.clock.Forget()
		c.stamped(stamp, began+2*time.Millisecond)
		if c.clock.Now() != stamp.Time {
			t.Error("an answer gives no time")
		}
	})
}
