package client

import (
	"context"
	"math/rand/v2"

	"github.com/snowgrid/snowgrid/wire"
)

// follow keeps an event stream to one owner until ctx ends. Whenever the stream
// stands anew, everything held there is renewed at once: the answers tell what
// happened while nobody listened.
func (c *Client) follow(ctx context.Context, owner string) {
	pause := firstPause
	for ctx.Err() == nil {
		began := c.clock.Mono()
		if c.listen(ctx, owner) && c.clock.Mono()-began > lastPause {
			pause = firstPause // not for one that breaks as soon as it stands
		}
		_ = sleep(ctx, pause/2+rand.N(pause/2+1))
		pause = min(2*pause, max(c.window()/4, lastPause)) // renewals tell what a stream would have told
	}
}

// listen opens a stream and delivers its events until it breaks. It reports
// whether the stream ever stood.
func (c *Client) listen(ctx context.Context, owner string) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.transport.Events(ctx, owner, wire.EventsRequest{Holder: c.holder})
	if err != nil {
		return false
	}
	defer func() { _ = stream.Close() }()
	stood := false
	for {
		event, err := stream.Next()
		if err != nil {
			return stood
		}
		if event.Name == "" {
			stood = true
			c.showAll(owner)
			continue
		}
		c.ended(event.Name, event.Life)
	}
}

// showAll has everything that is held at an owner renewed at once.
func (c *Client) showAll(owner string) {
	d := c.directory.Load()
	for _, e := range c.handles.all() {
		if d.owner(e.control.Handle().Name()) == owner {
			e.renewAt(0)
		}
	}
	c.look()
}
