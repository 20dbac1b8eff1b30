package client

import (
	"context"
	"math/rand/v2"

	"github.com/snowgrid/snowgrid/sequencer"
)

// replace attaches a handle again whose logical node went to another holder, until it has
// another one, or the user gives it up.
func (c *Client) replace(e *entry, id sequencer.AttachmentID) {
	if !e.begin() {
		return
	}
	c.background(func(ctx context.Context) {
		defer e.finish()
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		c.background(func(context.Context) { c.lapse(ctx, e, id) })
		err := c.replaceOnce(ctx, e, id)
		if err == nil || !e.control.Lost(id) {
			return
		}
		log := c.log.With("sequencer", e.control.Handle().Name())
		log.Warn("logical node lost; waiting for another", "error", err)
		for pause := retryAfter; err != nil && ctx.Err() == nil && e.control.Lost(id); pause = min(2*pause, max(c.window()/8, retryAfter)) {
			_ = sleep(ctx, pause-rand.N(pause/4))
			err = c.replaceOnce(ctx, e, id)
		}
		log.Info("logical node no longer awaited", "state", e.control.Handle().State().String())
	})
}

// replaceOnce tries for a window to get a logical node in place of that of id.
func (c *Client) replaceOnce(ctx context.Context, e *entry, id sequencer.AttachmentID) error {
	ctx, cancel := context.WithTimeout(ctx, c.window())
	defer cancel()
	return e.control.Replace(ctx, id)
}

// lapse has a handle say that it lost its logical node as soon as what it was granted has
// ended, unless ctx ends or it has another one before.
func (c *Client) lapse(ctx context.Context, e *entry, id sequencer.AttachmentID) {
	for {
		until, held := e.control.Lapse(id)
		if !held || c.clock.Wait(ctx, until, nil) != nil {
			return
		}
	}
}
