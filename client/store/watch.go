package store

import (
	"context"
	"errors"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/internal/signal"
)

// watch follows the changes that a store reports, until ctx ends. It only triggers reads earlier: a
// watch that misses everything costs time and nothing else.
func (c *Client) watch(ctx context.Context, w Watcher) {
	for try := 1; ctx.Err() == nil; try++ {
		keys, err := w.Watch(ctx, c.cfg.Prefix)
		if err != nil {
			c.log.Info("watch failed; retrying", "error", err)
			if !signal.Sleep(ctx, record.RetryAfter(try, 8*c.cfg.Window)) {
				return
			}
			continue
		}
		for key := range keys {
			try = 0
			c.changed(key)
		}
		if !signal.Sleep(ctx, record.RetryAfter(1, 8*c.cfg.Window)) {
			return
		}
	}
}

// changed has everything looked at that a changed key may concern.
func (c *Client) changed(key string) {
	name, part, node := record.ParseKey(c.cfg.Prefix, key)
	switch part {
	case record.PartDocument:
		c.tasks.Go(func(ctx context.Context) { c.lookAtDocument(ctx, name) })
	case record.PartRecord:
		for _, s := range c.allSeats() {
			if s.h.name() == name && s.node == node && s.isQuiet() {
				s.mu.Lock()
				s.machine.Look()
				s.mu.Unlock()
				s.wake.Send()
			}
		}
		c.notify(name)
	}
}

// lookAtDocument ends this client's handles on a life that has ended. A handle on a later life than the
// document's was made since the document was read.
func (c *Client) lookAtDocument(ctx context.Context, name string) {
	d, _, err := c.document(ctx, name)
	if err != nil && !errors.Is(err, ErrNoRecord) {
		return
	}
	for _, e := range c.handles.All() {
		if ref := e.Control.Ref(); err == nil && e.Control.Handle().Name() == name && d.Ended(ref.Life) {
			c.end(e.State)
		}
	}
}

// quietAfter is for how long after a renewal a change of the record is taken for the
// renewal's own.
const quietAfter clustertime.Span = 200

// isQuiet reports whether the seat has written nothing lately, so that a change of its
// record is another's.
func (s *seat) isQuiet() bool {
	select {
	case s.turn <- struct{}{}:
		<-s.turn
	default:
		return false // a call for it is in progress
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.h.client.clock.Mono()-s.looked > quietAfter.Duration()
}
