package api

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Limits on body bytes being read or decoded at one time. A body is charged its stated length before
// it is read, or the maximum without one. Member bodies are not charged: members trust each other.
const (
	peerBodies   = 4 * wire.MaxBody  // for all connections of one peer
	callerBodies = 64 * wire.MaxBody // of all callers but members
	// peerWaits and callerWaits limit the requests that wait for bytes. HTTP/2 buffers callWindow of each
	// body, uncharged, so the limits are low.
	peerWaits   = 64
	callerWaits = 256
	// chargeTimeout bounds that wait.
	chargeTimeout = 2 * time.Second
)

// budget is a byte limit shared by requests in progress. Waiters are served in no particular order.
type budget struct {
	mu    *sync.Mutex // guards the fields below
	free  int64
	freed chan struct{} // closed and replaced when bytes become free
	waits int           // how many more may wait
	wait  int           // how many do
}

func newBudget(bytes int64, waits int) budget {
	return budget{mu: &sync.Mutex{}, free: bytes, freed: make(chan struct{}), waits: waits}
}

// errTooManyBytes refuses a request before its body is read.
var errTooManyBytes = failure.Errorf(sequencer.ErrUnavailable,
	"grid: the requests in progress have too many bytes together, and as many as may wait for them; send fewer at one "+
		"time")

// charge takes n bytes, until release, and waits for them until ctx ends, unless too many wait.
func (b *budget) charge(ctx context.Context, n int64) (release func(), err error) {
	for {
		b.mu.Lock()
		if b.free >= n {
			b.free -= n
			b.mu.Unlock()
			return sync.OnceFunc(func() { b.release(n) }), nil
		}
		if b.waits == 0 {
			b.mu.Unlock()
			return func() {}, errTooManyBytes
		}
		b.waits--
		b.wait++
		freed := b.freed
		b.mu.Unlock()
		select {
		case <-freed:
			b.waited()
		case <-ctx.Done():
			b.waited()
			return func() {}, failure.Errorf(sequencer.ErrUnavailable,
				"grid: the requests in progress have too many bytes together; send fewer at one time: %w", ctx.Err())
		}
	}
}

func (b *budget) waited() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waits++
	b.wait--
}

func (b *budget) release(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free += n
	if b.wait > 0 {
		close(b.freed)
		b.freed = make(chan struct{})
	}
}

// take takes n bytes if they are free, until release.
func (b *budget) take(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.free < n {
		return false
	}
	b.free -= n
	return true
}

// takeBody takes the bytes of a small body from both budgets if they are free, until
// releaseBody.
func (c *connection) takeBody(length int64) bool {
	if c.bodies == nil || c.kind == fromMember {
		return true
	}
	if !c.bodies.take(length) {
		return false
	}
	if !c.allBodies.take(length) {
		c.bodies.release(length)
		return false
	}
	return true
}

func (c *connection) releaseBody(length int64) {
	if c.bodies != nil && c.kind != fromMember {
		c.bodies.release(length)
		c.allBodies.release(length)
	}
}

// chargeBody charges a body to the budgets of the connection's peer and of all callers, until release. A stated length
// beyond the limit is an error.
func (c *connection) chargeBody(ctx context.Context, length int64) (release func(), err error) {
	if err := wire.CheckLength(length); err != nil {
		return func() {}, fmt.Errorf("grid: %w", err)
	}
	if c.bodies == nil || c.kind == fromMember {
		return func() {}, nil
	}
	if length < 0 {
		length = wire.MaxBody // no more is read
	}
	ctx, cancel := context.WithTimeout(ctx, chargeTimeout)
	defer cancel()
	own, err := c.bodies.charge(ctx, length)
	if err != nil {
		return own, err
	}
	shared, err := c.allBodies.charge(ctx, length)
	if err != nil {
		own()
		return func() {}, err
	}
	return func() { own(); shared() }, nil
}
