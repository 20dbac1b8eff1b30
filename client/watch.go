package client

import (
	"context"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/session"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// A call whose owner has ended waits for another owner. A member is asked to say when there
// is one, so that no pause is slept through. One such request at a time is in progress in
// a client, whatever number of calls wait; members of the release before do not wait with
// their answers, and the pauses between two tries are as long as without it.

// watch is the request in progress, and what waits for it.
type watch struct {
	mu      sync.Mutex
	running bool
	changed chan struct{} // closed when the directory has changed, or the request has ended
}

// begin reports whether no request is in progress, and counts one.
func (w *watch) begin() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	begun := !w.running
	w.running = true
	return begun
}

// end counts the request as ended.
func (w *watch) end() {
	w.mu.Lock()
	w.running = false
	w.mu.Unlock()
	w.tell()
}

// news returns a channel that is closed at the next news.
func (w *watch) news() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed == nil {
		w.changed = make(chan struct{})
	}
	return w.changed
}

// tell wakes all that wait.
func (w *watch) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// movedFrom reports whether this client's own directory names an owner of a name that is not
// at addr. Another member's word is not enough to try again: a client that keeps a newer
// directory would ask the same owner again and again.
func (c *Client) movedFrom(name, addr string) bool {
	at := c.owner(name)
	return at != "" && at != addr
}

// awaitMove waits for d, less if a name's owner has moved from addr or ctx ends.
func (c *Client) awaitMove(ctx context.Context, name, addr string, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		news := c.watch.news()
		if c.movedFrom(name, addr) {
			return
		}
		c.beginWatch(name, addr)
		select {
		case <-news:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// beginWatch has a member say when a name's owner has moved from addr, unless one is asked already.
func (c *Client) beginWatch(name, addr string) {
	if c.watch.begin() {
		c.tasks.Go(func(ctx context.Context) { c.watchOwner(ctx, name, addr) })
	}
}

// watchOwner asks members one after the other, until one answers, to say when a name's owner
// has moved from addr. It takes as long as that or the longest wait.
func (c *Client) watchOwner(ctx context.Context, name, addr string) {
	defer c.watch.end()
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
