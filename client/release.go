package client

import (
	"context"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

// releases are attachments on their way back to the grid without anybody
// waiting for them: many at once when many sequencers are destroyed.
type releases struct {
	mu      sync.Mutex // never held while waiting
	waiting []pending
	under   int           // goroutines at work
	none    chan struct{} // closed when nothing is left; nil while nobody asked
}

// pending is one attachment to give back, by the client's clock not after end.
type pending struct {
	ref sequencer.Ref
	rel sequencer.Release
	end time.Duration
}

// releasers is how many goroutines give attachments back at once. A member takes 8 calls
// of one connection; with far more than that, some are refused before the client knows
// of another connection's limit, and net/http sends those again after a second only.
const releasers = 16

// releaseLater gives an attachment back, trying until its session would have
// ended anyway.
func (c *Client) releaseLater(ref sequencer.Ref, rel sequencer.Release) {
	if c.releases.add(pending{ref: ref, rel: rel, end: c.clock.Mono() + c.window()}) {
		c.background(c.releaseAll)
	}
}

// releaseAll gives back what waits, until nothing does.
func (c *Client) releaseAll(ctx context.Context) {
	for p, ok := c.releases.take(); ok; p, ok = c.releases.take() {
		ctx, cancel := context.WithTimeout(ctx, p.end-c.clock.Mono())
		if err := c.release(ctx, p.ref, p.rel); err != nil && !settled(err) {
			c.log.Warn("logical node not given back; the grid takes it when the session has ended",
				"sequencer", p.ref.Definition.Name(), "node", p.rel.Node, "error", err)
		}
		cancel()
	}
}

// add notes p, and reports whether another goroutine is to be set to work.
func (r *releases) add(p pending) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, p)
	if r.under == releasers {
		return false
	}
	r.under++
	return true
}

// take returns what has waited longest; false tells the goroutine to end.
func (r *releases) take() (pending, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) > 0 {
		p := r.waiting[0]
		r.waiting = r.waiting[1:]
		return p, true
	}
	r.under--
	if r.under == 0 && r.none != nil {
		close(r.none)
		r.none = nil
	}
	return pending{}, false
}

// wait returns when nothing is left to give back, or ctx's error.
func (r *releases) wait(ctx context.Context) error {
	r.mu.Lock()
	if r.under == 0 {
		r.mu.Unlock()
		return nil
	}
	if r.none == nil {
		r.none = make(chan struct{})
	}
	none := r.none
	r.mu.Unlock()
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
