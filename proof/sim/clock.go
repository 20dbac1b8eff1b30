package sim

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// clock is a process's two clocks, which may run at a wrong pace, and its cluster
// time. The monotonic one continues while the process is paused.
type clock struct {
	w    *world
	at   time.Duration // when what follows was so
	mono time.Duration
	rate int64 // parts per million too fast
	wall clustertime.Tick

	time clustertime.ClusterTime
}

// Mono gives the monotonic clock.
func (c *clock) Mono() time.Duration {
	passed := int64(c.w.now - c.at)
	return c.mono + time.Duration(passed+passed/1000*c.rate/1000)
}

// untilMono gives how long it takes until the monotonic clock shows a time, at its
// present pace.
func (c *clock) untilMono(mono time.Duration) time.Duration {
	return max(mono-c.Mono(), 0)*1_000_000/time.Duration(1_000_000+c.rate) + time.Microsecond
}

// Wall gives the wall clock.
func (c *clock) Wall() clustertime.Tick { return c.wall.Add(clustertime.SpanOf(c.Mono())) }

// Now gives the cluster time, 0 while unknown.
func (c *clock) Now() clustertime.Tick { return c.time.At(c.Mono()) }

// Sample notes that cluster time is t now.
func (c *clock) Sample(t clustertime.Tick) {
	if t > 0 {
		c.time = c.time.Sample(c.Mono(), t)
	}
}

// run sets the pace from now on.
func (c *clock) run(rate int64) {
	c.mono = c.Mono()
	c.at, c.rate = c.w.now, rate
}
