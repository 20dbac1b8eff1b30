package sequencer

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment/bridge"
	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// manualClock is cluster time that a test sets.
type manualClock struct {
	reads atomic.Int64
	// onRead, if set before the clock is used, is called with the number of
	// each reading, before the time is read.
	onRead func(int64)

	mu    sync.Mutex
	now   clustertime.Tick
	moved chan struct{}
}

func newManualClock(now clustertime.Tick) *manualClock {
	return &manualClock{now: now, moved: make(chan struct{})}
}

func (c *manualClock) Now() clustertime.Tick {
	if n := c.reads.Add(1); c.onRead != nil {
		c.onRead(n)
	}
	now, _ := c.look()
	return now
}

func (c *manualClock) Read() (clustertime.Tick, time.Duration, time.Duration) { return c.Now(), 0, 0 }

func (c *manualClock) look() (clustertime.Tick, chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now, c.moved
}

func (c *manualClock) set(now clustertime.Tick) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
	close(c.moved)
	c.moved = make(chan struct{})
}

// quietly sets the time without waking the callers that wait.
func (c *manualClock) quietly(now clustertime.Tick) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

func (c *manualClock) Wait(ctx context.Context, until clustertime.Tick, wake <-chan struct{}) error {
	for {
		now, moved := c.look()
		if now >= until {
			return ctx.Err()
		}
		select {
		case <-wake:
			return nil
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lateClock has something happen right after the next reading, before that is made use of.
type lateClock struct {
	*manualClock
	late func()
}

func (c *lateClock) Read() (clustertime.Tick, time.Duration, time.Duration) {
	now, lasts, mono := c.manualClock.Read()
	if late := c.late; late != nil {
		c.late = nil
		late()
	}
	return now, lasts, mono
}

// runningClock moves on by a millisecond whenever it is read, so that no two
// reservations have one timestamp and any late one shows.
type runningClock struct{ now atomic.Int64 }

func (c *runningClock) Now() clustertime.Tick { return clustertime.Tick(c.now.Add(1)) }

func (c *runningClock) Read() (clustertime.Tick, time.Duration, time.Duration) { return c.Now(), 0, 0 }

func (c *runningClock) Wait(ctx context.Context, until clustertime.Tick, wake <-chan struct{}) error {
	if clustertime.Tick(c.now.Load()) >= until {
		return nil
	}
	if until < farAhead {
		c.now.Store(int64(until))
		return nil
	}
	select {
	case <-wake:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fakeBackend is a backend that returns attachments 1, 2, 3 ... and records its calls. A
// field that is set answers instead.
type fakeBackend struct {
	grant   bridge.Grant
	attach  func(preference) (attachment, error)
	detach  func(release) error
	destroy func() error

	mu       sync.Mutex
	asked    []preference
	released []release
	ended    int
}

func (h *fakeBackend) Attach(_ context.Context, p preference) (attachment, error) {
	h.mu.Lock()
	h.asked = append(h.asked, p)
	a := attachment{ID: numbered(len(h.asked)), Node: p.Node, Grant: h.grant}
	h.mu.Unlock()
	if h.attach != nil {
		return h.attach(p)
	}
	return a, nil
}

func (h *fakeBackend) Detach(_ context.Context, rel release) error {
	h.mu.Lock()
	h.released = append(h.released, rel)
	h.mu.Unlock()
	if h.detach != nil {
		return h.detach(rel)
	}
	return nil
}

func (h *fakeBackend) Destroy(context.Context) error {
	h.mu.Lock()
	h.ended++
	h.mu.Unlock()
	if h.destroy != nil {
		return h.destroy()
	}
	return nil
}

func numbered(n int) (id bridge.ID) {
	copy(id[:], fmt.Sprint("attachment", n))
	return id
}

// handle is a handle with everything around it. Its sequencer has 8192 nodes from
// epoch 1000, time stands at 2000, and the backend grants 2000 to 3000.
type handle struct {
	*Sequencer
	control *control
	backend *fakeBackend
	clock   *manualClock
}

func newHandle(t testing.TB) *handle {
	h := &handle{backend: &fakeBackend{grant: bridge.Grant{From: 2000, Until: 3000}}, clock: newManualClock(2000)}
	def := define(t, 8192)
	h.Sequencer, h.control = newSequencer(def, bridge.Life{1}, h.backend, h.clock)
	return h
}

// attachedHandle is one with attachment 1.
func attachedHandle(t testing.TB) *handle {
	h := newHandle(t)
	if err := h.AttachLogicalNode(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h
}

// next returns the timestamp and counter of the next ID, which must be there.
func (h *handle) next(t testing.TB) (clustertime.Tick, uint32) {
	t.Helper()
	id, err := h.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := h.Definition().Decompose(id)
	return clustertime.TickOf(p.Time), p.Counter
}

// takeAt takes up to n slots at a cluster time that may be over in a moment.
func takeAt(g *generator, now clustertime.Tick, n int) (slot int64, k int, at clustertime.Tick, out outcome) {
	t := g.take(reading{now: now}, n, -1, false)
	return t.slot, t.k, t.at, t.out
}
