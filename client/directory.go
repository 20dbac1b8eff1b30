package client

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"

	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/sequencer"
	"github.com/snowgrid/snowgrid/wire"
)

// directory is who owns what, as some member told it. It is a hint: a member
// that does not own a partition says so.
type directory struct {
	wire.DirectoryResponse
	asked time.Duration // when it was asked for, by the client's clock
}

// owner returns the address of a name's owner, "" while it has none.
func (d *directory) owner(name string) string {
	if d == nil || len(d.Owners) == 0 {
		return ""
	}
	i := d.Owners[roster.PartitionOf(name, len(d.Owners))]
	if i < 0 || i >= len(d.Members) {
		return ""
	}
	return d.Members[i].API
}

// callTimeout bounds one try of a call: a member that does not answer within it
// is asked again, or another one is.
const callTimeout = 2 * time.Second

// nextCandidate is how long a call that needs the directory waits for the first member before
// another is asked too. For each further one it is twice as long: when all are slow, asking
// all makes them slower. What no call waits for asks one member after the other.
const nextCandidate = 200 * time.Millisecond

// lookUp fetches the directory from the first member that answers. Concurrent
// calls share one round. A directory fetched since the clock showed after is
// good enough and not fetched again. patience is how long the first member has before the
// next is asked.
func (c *Client) lookUp(ctx context.Context, after, patience time.Duration) error {
	select {
	case c.lookingUp <- struct{}{}:
		defer func() { <-c.lookingUp }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if d := c.directory.Load(); d != nil && d.asked > after {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	candidates := c.candidates()
	found := make(chan lookedUp, len(candidates))
	asked, failed := 0, []error{}
	ask := func() {
		if asked < len(candidates) {
			addr := candidates[asked]
			asked++
			go func() { found <- c.askDirectory(ctx, addr) }()
		}
	}
	ask()
	for answered := 0; answered < len(candidates); {
		select {
		case l := <-found:
			answered++
			if l.err == nil {
				c.adopt(&l.directory)
				c.stamped(l.directory.Stamp, l.directory.asked)
				return nil
			}
			failed = append(failed, l.err)
			ask()
		case <-time.After(patience):
			patience *= 2
			ask()
		}
	}
	return errors.Join(failed...)
}

// lookedUp is one member's directory, or why there is none.
type lookedUp struct {
	directory directory
	err       error
}

func (c *Client) askDirectory(ctx context.Context, addr string) lookedUp {
	l := lookedUp{directory: directory{asked: c.clock.Mono()}}
	l.err = c.tryCall(ctx, addr, wire.PathDirectory, wire.DirectoryRequest{}, &l.directory.DirectoryResponse)
	if l.err == nil && len(l.directory.Owners) == 0 {
		l.err = failure.Errorf(sequencer.ErrUnavailable, "member at %s is not part of a grid yet", addr)
	}
	return l
}

// adopt keeps the newer of two directories of one grid. Another grid, the next
// life of one that kept nothing, has another time.
func (c *Client) adopt(d *directory) {
	have := c.directory.Load()
	if have != nil && have.Grid != d.Grid {
		c.log.Warn("the grid has begun anew", "grid", d.Grid.String(), "before", have.Grid.String())
		c.clock.Forget()
	}
	if have != nil && have.Grid == d.Grid && have.Version > d.Version {
		have = &directory{DirectoryResponse: have.DirectoryResponse, asked: d.asked}
		d = have
	}
	c.directory.Store(d)
	c.look() // owners may have changed
}

// candidates returns every address that may know the directory: the members
// known last, then the configured ones. The order begins elsewhere each time.
func (c *Client) candidates() []string {
	var known []string
	if d := c.directory.Load(); d != nil {
		for _, m := range d.Members {
			known = append(known, m.API)
		}
	}
	if n := len(known); n > 0 {
		turn := int(c.lookUps.Add(1)) % n
		known = append(known[turn:n:n], known[:turn]...)
	}
	for _, addr := range c.addrs {
		if !slices.Contains(known, addr) {
			known = append(known, addr)
		}
	}
	return known
}

// stamped takes the time out of an answer to a request sent at began, and has the
// directory fetched again if the answer is by a newer roster. The time of another
// grid than the directory's counts only when the directory is that grid's.
func (c *Client) stamped(s wire.Stamp, began time.Duration) {
	d := c.directory.Load()
	if d == nil || d.Grid != s.Grid || d.Version < s.Version {
		c.refresh(began)
	}
	if d != nil && d.Grid == s.Grid && c.clock.Mono()-began <= wire.StaleAnswer {
		c.clock.Sample(s.Time)
	}
}

// refresh has the directory fetched in the background, once however many ask.
func (c *Client) refresh(after time.Duration) {
	if c.refreshes.CompareAndSwap(false, true) {
		c.background(func(ctx context.Context) {
			defer c.refreshes.Store(false)
			_ = c.lookUp(ctx, after, callTimeout)
		})
	}
}
