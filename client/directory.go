package client

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/session"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// lookedUp is one member's directory, or the error in place of it.
type lookedUp struct {
	directory *wire.DirectoryResponse
	asked     time.Duration // by the client's clock
	err       error
}

// lookUp fetches the directory from the first member that answers. Concurrent calls share one
// round. A directory requested later than after, by the client's clock, is not fetched again.
// urgent marks a lookup that a call waits for: it makes a round in progress urgent.
func (c *Client) lookUp(ctx context.Context, after time.Duration, urgent bool) error {
	if err := c.rounds.enter(ctx, urgent); err != nil {
		return err
	}
	defer func() { <-c.rounds.turn }()
	if ask(c.session, func(m *session.Machine) bool { return m.KnownSince(after) }) {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	select {
	case <-c.rounds.hurry: // from a search that is counted, or no longer waits
	default:
	}
	urgent = urgent || c.rounds.urgent.Load() > 0
	search := ask(c.session, func(m *session.Machine) *session.LookUp { return m.NewLookUp(urgent) })
	found := make(chan lookedUp)
	var next <-chan time.Time // when to send the request to another member
	askNext := func() {
		next = time.After(search.Patience())
		if addr := search.Ask(); addr != "" {
			go func() {
				select {
				case found <- c.askDirectory(ctx, addr, wire.DirectoryRequest{}):
				case <-ctx.Done():
				}
			}()
		}
	}
	var failed []error
	for askNext(); ; {
		select {
		case l := <-found:
			if l.err == nil {
				c.adopt(l)
				return nil
			}
			failed = append(failed, l.err)
			if search.Failed() {
				return joined(failed)
			}
			askNext()
		case <-next:
			search.Waited()
			askNext()
		case <-c.rounds.hurry:
			if search.Hurry() {
				askNext()
			}
		case <-ctx.Done():
			return joined(append(failed, ctx.Err()))
		}
	}
}

// joined returns the errors of members as one, and only a final one if there is any.
func joined(failed []error) error {
	for _, err := range failed {
		if isFinal(err) {
			return err
		}
	}
	return errors.Join(failed...)
}

// rounds serializes searches for the directory.
type rounds struct {
	turn   chan struct{} // holds one token while a search is in progress
	hurry  chan struct{} // gets a token when an urgent search waits for its turn
	urgent atomic.Int32  // number of waiting urgent searches
}

// enter waits until no other search is in progress, and takes the token.
func (r *rounds) enter(ctx context.Context, urgent bool) error {
	if urgent {
		r.urgent.Add(1)
		defer r.urgent.Add(-1)
		select {
		case r.hurry <- struct{}{}:
		default:
		}
	}
	select {
	case r.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Client) askDirectory(ctx context.Context, addr string, in wire.DirectoryRequest) lookedUp {
	l := lookedUp{directory: &wire.DirectoryResponse{}, asked: c.clock.Mono()}
	if have := c.directory.Load(); have != nil {
		in.Known = &wire.DirectoryVersion{Grid: have.Grid, Version: have.Version}
	}
	l.err = c.tryCall(ctx, addr, wire.PathDirectory, in, l.directory)
	if l.err == nil && len(l.directory.Owners) == 0 && !l.directory.Same {
		l.err = failure.Errorf(errNoGrid, "member at %s is not part of a grid yet", addr)
	}
	return l
}

// errNoGrid is the kind of the answer of a member that waits for its grid.
var errNoGrid = failure.Errorf(sequencer.ErrUnavailable, "client: the member is not part of a grid yet")

// adopt installs a directory unless the client has a newer one.
func (c *Client) adopt(l lookedUp) {
	if d := l.directory; d.Same {
		stamp := session.Stamp{Grid: d.Grid, Version: d.Version, Time: d.Time}
		c.session.do(func(m *session.Machine, now session.Now) { m.Confirm(now, stamp, l.asked) })
		c.watch.changed.Send()
		return
	}
	have := c.directory.Load()
	if have != nil && have.Grid != l.directory.Grid {
		c.log.Warn("grid replaced by a new one", "grid", l.directory.Grid.String(), "before", have.Grid.String())
	}
	c.session.do(func(m *session.Machine, now session.Now) {
		if m.Adopt(now, directoryOf(l.directory), l.asked, l.directory.Time) {
			l.directory.Owners = nil // the session has them
			c.directory.Store(l.directory)
		}
	})
	c.spans.moved()
	c.watch.changed.Send()
}

// directoryOf converts a directory for the session machine.
func directoryOf(d *wire.DirectoryResponse) session.Directory {
	out := session.Directory{Grid: d.Grid, Version: d.Version, Window: d.Window.Duration()}
	for _, member := range d.Members {
		out.Members = append(out.Members, member.API)
	}
	for _, i := range d.Owners {
		owner := ""
		if i >= 0 && i < len(d.Members) {
			owner = d.Members[i].API
		}
		out.Owners = append(out.Owners, owner)
	}
	return out
}

// owner returns the address of a name's owner, "" while the directory names none.
func (c *Client) owner(name string) string {
	return ask(c.session, func(m *session.Machine) string { return m.Owner(name) })
}
