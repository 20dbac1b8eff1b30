package sequencer

import (
	"context"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment/bridge"
	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// control is the backend's side of a handle. It implements bridge.Control.
type control struct{ s *Sequencer }

// Held returns the current attachment with its newest grant, false if none.
func (c *control) Held() (attachment, bool) {
	g := c.s.now.Load().gen
	if g == nil {
		return attachment{}, false
	}
	a := attachment{ID: g.id, Node: g.node}
	if grants := g.rights.Load().grants; len(grants) > 0 {
		a.Grant = grants[len(grants)-1]
	}
	return a, true
}

// Renewed adds a grant to the attachment id. It does nothing if the handle has another attachment
// or none: replies for a released attachment are ignored.
func (c *control) Renewed(id bridge.ID, g bridge.Grant) {
	if gen := c.s.now.Load().gen; gen != nil && gen.id == id {
		gen.extend(g)
	}
}

// Refuse records cause as the reason why the attachment id is not renewed: once its grants have
// ended, calls return cause in place of waiting. A later grant clears it.
func (c *control) Refuse(id bridge.ID, cause error) {
	if gen := c.s.now.Load().gen; gen != nil && gen.id == id {
		gen.refuse(cause)
	}
}

// NotRenewed records cause as the error of the last attempt to renew the attachment id. Calls wait
// for a grant nevertheless, and name cause if their contexts end first. A later grant clears it.
func (c *control) NotRenewed(id bridge.ID, cause error) {
	if gen := c.s.now.Load().gen; gen != nil && gen.id == id {
		gen.failed.Store(&cause)
	}
}

// Destroy ends the handle because its life has ended. It returns the handle's release,
// false if it had no logical node.
func (c *control) Destroy() (release, bool) { return c.s.end(Destroyed, ErrDestroyed) }

// Close ends the handle because its member or client was closed. It returns the handle's
// release, false if it had no logical node.
func (c *control) Close() (release, bool) { return c.s.end(Detached, ErrClosed) }

// Fence ends the handle because another process has replaced this one: its calls return cause,
// which matches ErrFenced. It returns the handle's release, false if it had no logical node.
func (c *control) Fence(cause error) (release, bool) { return c.s.end(Detached, cause) }

// Idle reports whether DetachWhenIdle requires a detach at cluster time now.
func (c *control) Idle(now clustertime.Tick) bool {
	limit := time.Duration(c.s.idle.Load())
	g := c.s.now.Load().gen
	if limit == 0 || g == nil || c.s.waitsOpen.Load() > 0 {
		return false
	}
	since := max(g.lastUsed(), g.epoch.Add(clustertime.Span(g.start/g.layout.counters())))
	return now.Sub(since) >= max(clustertime.SpanOf(limit), 1)
}

// LastUsed returns the largest timestamp taken under the attachment id, 0 if none was, or
// if the handle holds another attachment or none.
func (c *control) LastUsed(id bridge.ID) clustertime.Tick {
	if g := c.s.now.Load().gen; g != nil && g.id == id {
		return g.lastUsed()
	}
	return 0
}

// Detaches reports whether DetachWhenIdle is set.
func (c *control) Detaches() bool { return c.s.idle.Load() > 0 }

// DetachIdle releases the logical node; Next attaches again by itself.
func (c *control) DetachIdle(ctx context.Context) error { return c.s.detach(ctx, byIdle) }
