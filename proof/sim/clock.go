package sim

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// clock holds a process's two clocks, which may run at a wrong rate, and its cluster time. The
// monotonic clock continues while the process is paused.
type clock struct {
	w    *world
	at   time.Duration // the time at which mono was current
	mono time.Duration
	rate int64 // error in parts per million; positive is too fast
	wall clustertime.Tick

	time clustertime.ClusterTime
}

// Mono returns the monotonic time.
func (c *clock) Mono() time.Duration {
	passed := int64(c.w.now - c.at)
	return c.mono + time.Duration(passed+passed/1000*c.rate/1000)
}

// untilMono returns the time until the monotonic clock reaches a value, at its current rate.
func (c *clock) untilMono(mono time.Duration) time.Duration {
	return max(mono-c.Mono(), 0)*1_000_000/time.Duration(1_000_000+c.rate) + time.Microsecond
}

// Wall returns the wall clock time.
func (c *clock) Wall() clustertime.Tick { return c.wall.Add(clustertime.SpanOf(c.Mono())) }

// Now returns the cluster time, or 0 without one.
func (c *clock) Now() clustertime.Tick { return c.time.At(c.Mono()) }

// Sample records that cluster time is t now.
func (c *clock) Sample(t clustertime.Tick) {
	if t > 0 {
		c.time = c.time.Sample(c.Mono(), t)
	}
}

// run sets the clock rate from now on.
func (c *clock) run(rate int64) {
	c.mono = c.Mono()
	c.at, c.rate = c.w.now, rate
}
