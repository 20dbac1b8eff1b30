package store

import (
	"errors"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// ErrClockBack means that this machine's clock was set back by more than
// Config.MaxClockBack.
var ErrClockBack = errors.New("clock set back: check the time service of this machine")

// wallClock compares the wall clock with the monotonic clock and with the store's.
type wallClock struct {
	read func() time.Time

	mu    sync.Mutex
	last  time.Time     // the last reading
	mono  time.Duration // when it was taken
	skew  time.Duration // ahead of the store's clock
	known bool          // the store's clock is
	err   error         // why the last reading was not followed
}

// sample records the wall clock, unless it cannot be right.
//
// Errors: sequencer.ErrInvalidConfig.
func (c *Client) sample() error {
	w := &c.wall
	now, mono := w.read(), c.clock.Mono()
	w.mu.Lock()
	var back time.Duration // since the last reading
	if !w.last.IsZero() {
		// Round drops the monotonic readings, which a set clock does not change.
		back = max(mono-w.mono-now.Round(0).Sub(w.last.Round(0)), 0)
	}
	w.last, w.mono = now, mono
	err := clustertime.CheckClock(clustertime.TickOf(now))
	if err != nil {
		err = failure.Errorf(sequencer.ErrInvalidConfig,
			"store: %w; in a test with another time, as in a bubble of testing/synctest, set Config.Clock", err)
	} else if d, dated := c.store.(Dated); dated {
		err = w.compare(d, now, c.cfg.MaxSkew)
	}
	w.err = err
	w.mu.Unlock()
	if err == nil {
		c.clock.Sample(clustertime.TickOf(now))
	}
	if back > c.cfg.MaxClockBack {
		c.log.Error("clock set back", "by", back)
		cause := failure.Errorf(ErrClockBack, "store: this machine's clock was set back by %v, more than "+
			"Config.MaxClockBack (--max-clock-back) of %v; check its time service", back, c.cfg.MaxClockBack)
		for _, s := range c.allSeats() { // nothing was lost; IDs wait for the clock's earlier time (E12)
			c.report(s.loss(cause))
		}
	}
	return err
}

// compare returns an error if the wall clock is too far off the store's.
func (w *wallClock) compare(d Dated, now time.Time, most time.Duration) error {
	theirs, within, known := d.Time()
	if w.known = known; !known {
		return nil
	}
	w.skew = now.Round(0).Sub(theirs.Round(0))
	if off := w.skew.Abs() - within; off > most {
		return failure.Errorf(sequencer.ErrInvalidConfig, "store: this machine's clock shows %s, and the store's %s; that "+
			"is more than Config.MaxSkew (%v); set this machine's clock",
			now.UTC().Format(time.RFC3339), theirs.UTC().Format(time.RFC3339), most)
	}
	return nil
}
