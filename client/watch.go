package client

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/session"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// A call whose owner has ended waits for another owner. A member watches for the move and replies
// to a long request, so the wait ends as soon as there is an owner. A client has one such request
// in progress, however many calls wait.

// watch is the request in progress, and the broadcast to the calls that wait for it.
type watch struct {
	running atomic.Bool
	changed signal.Broadcast // sent when the directory has changed, or the request has ended
}

// movedFrom reports whether this client's own directory names an owner other than addr. Another
// member's reply is not enough to try again: a client that keeps a newer directory would call the
// same owner again and again.
func (c *Client) movedFrom(name, addr string) bool {
	at := c.owner(name)
	return at != "" && at != addr
}

// awaitMove waits for d, less if a name's owner has moved from addr or ctx ends.
func (c *Client) awaitMove(ctx context.Context, name, addr string, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		changed := c.watch.changed.Wait()
		if c.movedFrom(name, addr) {
			return
		}
		c.beginWatch(name, addr)
		select {
		case <-changed:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// beginWatch requests a reply when a name's owner has moved from addr, unless such a request is in
// progress.
func (c *Client) beginWatch(name, addr string) {
	if c.watch.running.CompareAndSwap(false, true) {
		c.tasks.Go(func(ctx context.Context) { c.watchOwner(ctx, name, addr) })
	}
}

// watchOwner sends that request to one member after the other, until one answers. It returns after
// the reply or the longest wait.
func (c *Client) watchOwner(ctx context.Context, name, addr string) {
	defer func() {
		c.watch.running.Store(false)
		c.watch.changed.Send()
	}()
	ctx, cancel := context.WithTimeout(ctx, wire.MaxDirectoryWait.Duration())
	defer cancel()
	partition := ask(c.session, func(m *session.Machine) roster.PartitionID { return m.Partition(name) })
	request := wire.DirectoryRequest{Partition: int(partition), NotAt: addr, Wait: wire.MaxDirectoryWait}
	search := ask(c.session, func(m *session.Machine) *session.LookUp { return m.NewLookUp(true) })
	for member := search.Ask(); member != "" && ctx.Err() == nil; member = search.Ask() {
		if member == addr {
			continue
		}
		if l := c.askDirectory(ctx, member, request); l.err == nil {
			c.adopt(l)
			break
		}
	}
	if !c.movedFrom(name, addr) {
		<-ctx.Done() // not more requests than waits
	}
}
