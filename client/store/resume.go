package store

import (
	"context"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Resume makes the client ready for use after its process was frozen: it reads the clock,
// renews each grant with less than a third of its window left, and waits until each handle that
// had a logical node has time left again. Call it at the start of a handler where the
// process does not run between two calls. It needs no request otherwise.
//
// Errors: sequencer.ErrClosed; and, when ctx ended, an error that matches ctx.Err() and
// sequencer.ErrUnavailable.
func (c *Client) Resume(ctx context.Context) error {
	if err := c.tasks.Err(); err != nil {
		return err
	}
	if err := c.sample(); err != nil {
		c.log.Warn("clock not followed", "error", err)
	}
	for _, s := range c.allSeats() {
		if c.isLow(s) {
			s.wake.Send()
		}
	}
	for {
		moved := c.moved.Wait()
		var low *holder
		for _, s := range c.allSeats() {
			if c.isLow(s) {
				low = s.h
			}
		}
		if low == nil {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return failure.Errorf(sequencer.ErrUnavailable,
				"sequencer %q: %s: %w; check that the store is reachable, then try again", low.name(),
				low.because("not renewed in time"), ctx.Err())
		case <-c.tasks.Context().Done():
			return c.tasks.Err()
		}
	}
}

// isLow reports whether a seat that is in use has less than a third of a window left.
func (c *Client) isLow(s *seat) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.machine.Phase() {
	case record.Lost:
		return s.h.control.Lost(s.id)
	case record.Holds:
		return s.machine.Record().Timestamp.Sub(c.clock.Now()).Duration() < c.cfg.Window/3
	}
	return false
}
