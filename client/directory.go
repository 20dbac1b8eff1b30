package client

import (
	"context"
	"errors"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/session"
	"github.com/snowgrid/snowgrid/sequencer"
	"github.com/snowgrid/snowgrid/wire"
)

// lookedUp is one member's directory, or why there is none.
type lookedUp struct {
	directory *wire.DirectoryResponse
	asked     time.Duration // by the client's clock
	err       error
}

// lookUp fetches the directory from the first member that answers. Concurrent calls
// share one round. A directory that was asked for since the clock showed after is not
// fetched again. urgent says that a call waits for it.
func (c *Client) lookUp(ctx context.Context, after time.Duration, urgent bool) error {
	select {
	case c.lookingUp <- struct{}{}:
		defer func() { <-c.lookingUp }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if ask(c.session, func(m *session.Machine) bool { return m.KnownSince(after) }) {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	search := ask(c.session, func(m *session.Machine) *session.LookUp { return m.NewLookUp(urgent) })
	found := make(chan lookedUp)
	begin := func() {
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
	for begin(); ; begin() {
		select {
		case l := <-found:
			if l.err == nil {
				c.adopt(l)
				return nil
			}
			failed = append(failed, l.err)
			if search.Failed() {
				return errors.Join(failed...)
			}
		case <-time.After(search.Patience()):
			search.Waited()
		case <-ctx.Done():
			return errors.Join(append(failed, ctx.Err())...)
		}
	}
}

func (c *Client) askDirectory(ctx context.Context, addr string, in wire.DirectoryRequest) lookedUp {
	l := lookedUp{directory: &wire.DirectoryResponse{}, asked: c.clock.Mono()}
	l.err = c.tryCall(ctx, addr, wire.PathDirectory, in, l.directory)
	if l.err == nil && len(l.directory.Owners) == 0 {
		l.err = failure.Errorf(sequencer.ErrUnavailable, "member at %s is not part of a grid yet", addr)
	}
	return l
}

// adopt keeps a directory unless there is a newer one.
func (c *Client) adopt(l lookedUp) {
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
	c.watch.tell()
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
