package handles

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// Clock is one process's cluster time: the last sample from its backend, advanced between samples
// by the process's monotonic clock. It reads no wall clock.
type Clock struct {
	base  time.Time
	exact bool
	pace  atomic.Pointer[clustertime.Pace]

	mu   sync.Mutex // orders Sample
	time clustertime.ClusterTime
}

// NewClock returns a clock without a sample.
func NewClock() *Clock {
	return &Clock{base: time.Now()}
}

// NewExactClock returns a clock that is read for each ID. In a testing/synctest bubble, where time
// differs from the processor's, handles need one.
func NewExactClock() *Clock {
	c := NewClock()
	c.exact = true
	return c
}

// Mono returns the monotonic time since the clock was made.
func (c *Clock) Mono() time.Duration { return time.Since(c.base) }

// Sample records that the backend's time is t now.
func (c *Clock) Sample(t clustertime.Tick) {
	if t <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.time = c.time.Sample(c.Mono(), t)
	c.pace.Store(new(c.time.Pace()))
}

// Forget discards the samples, because the next one comes from another backend. Only then may the
// time step back. A handle's IDs ascend nevertheless: they wait.
func (c *Clock) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.time = clustertime.ClusterTime{}
	c.pace.Store(nil)
}

// Now returns the cluster time, 0 while unknown.
func (c *Clock) Now() clustertime.Tick {
	if pace := c.pace.Load(); pace != nil {
		return pace.At(c.Mono())
	}
	return 0
}

// Read returns the cluster time, the minimum duration for which it stays so without a sample, and
// the monotonic time. An exact clock returns the duration 0.
func (c *Clock) Read() (now clustertime.Tick, lasts, mono time.Duration) {
	pace := c.pace.Load()
	if pace == nil {
		return 0, 0, 0
	}
	mono = c.Mono()
	if now, lasts = pace.Read(mono); c.exact {
		lasts = 0
	}
	return now, lasts, mono
}

// waitStep bounds one sleep in Wait, so that a sample that moves the time forward takes effect;
// unknownStep does so before the first sample.
const (
	waitStep    = time.Second
	unknownStep = 20 * time.Millisecond
	// nap is a wait that ends only by time. When IDs run out, many callers wait a thousand times a
	// second, and watching the channels would cost more than sleeping.
	nap clustertime.Span = 2
)

// Wait returns nil when cluster time has reached until or wake is closed, and ctx's error when ctx
// ends first. If until is at most 2 ms ahead, it ignores both until then.
func (c *Clock) Wait(ctx context.Context, until clustertime.Tick, wake <-chan struct{}) error {
	if ahead := until.Sub(c.Now()); ahead > 0 && ahead <= nap {
		time.Sleep(ahead.Duration())
	}
	for {
		step := waitStep
		now := c.Now()
		if now >= until {
			return ctx.Err()
		}
		if ahead := until.Sub(now); ahead < clustertime.SpanOf(waitStep) {
			step = ahead.Duration()
		}
		if now == 0 {
			step = unknownStep
		}
		select {
		case <-wake:
			return nil
		case <-time.After(step):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
