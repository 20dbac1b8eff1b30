package client

import (
	"context"
	"errors"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/session"
	"github.com/snowgrid/snowgrid/sequencer"
	"github.com/snowgrid/snowgrid/wire"
)

// CreateSequencer returns this client's handle on a named sequencer, creating
// the sequencer if the grid has none of that name, and attaches a logical node.
// There is one handle per name and client: a handle that is there already is
// returned as it is, Detached too. If only the attach failed, the handle is
// returned, Detached, beside the error; calling again tries to attach it again.
//
// Errors: sequencer.ErrInvalidConfig; ErrConflict if the grid has the name with
// another definition (the message shows both); ErrNoFreeNode; ErrClosed; and,
// when ctx ended, an error that matches ctx.Err() and ErrUnavailable.
func (c *Client) CreateSequencer(ctx context.Context, name string, cfg sequencer.Config) (*sequencer.Sequencer, error) {
	def, err := sequencer.Define(name, cfg)
	if err != nil {
		return nil, err
	}
	unlock, err := c.turn(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	e := c.handles.live(name)
	if e == nil {
		req := wire.CreateRequestOf(def)
		if e, err = c.find(ctx, name, wire.PathCreate, req, true); err != nil {
			return nil, err
		}
	}
	h := e.control.Handle()
	if have := h.Definition(); have != def {
		return nil, failure.Errorf(sequencer.ErrConflict, "sequencer %q: conflicting definition: this process has %v, requested was %v; use the existing definition, or another name",
			name, have, def)
	}
	if !e.owed {
		return h, nil
	}
	if err := h.AttachLogicalNode(ctx); err != nil && !errors.Is(err, sequencer.ErrAttached) {
		c.session.do(func(m *session.Machine, now session.Now) { m.AttachFailed(now, e.session) })
		return h, err
	}
	e.owed = false
	return h, nil
}

// OpenSequencer returns this client's handle on a sequencer that exists,
// Detached unless this client has attached it before.
//
// Errors: sequencer.ErrInvalidConfig, ErrNotFound, ErrClosed; and, when ctx
// ended, an error that matches ctx.Err() and ErrUnavailable.
func (c *Client) OpenSequencer(ctx context.Context, name string) (*sequencer.Sequencer, error) {
	if _, err := sequencer.Define(name, sequencer.Config{}); err != nil {
		return nil, err
	}
	unlock, err := c.turn(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	e := c.handles.live(name)
	if e == nil {
		if e, err = c.find(ctx, name, wire.PathOpen, wire.OpenRequest{Name: name}, false); err != nil {
			return nil, err
		}
	}
	e.owed = false
	return e.control.Handle(), nil
}

// DestroySequencer ends the life that the name has at the moment, in the whole
// grid. See [sequencer.Sequencer.Destroy], which ends no life but its own.
//
// Errors: sequencer.ErrInvalidConfig, ErrNotFound, ErrClosed; and, when ctx
// ended, an error that matches ctx.Err() and ErrUnavailable.
func (c *Client) DestroySequencer(ctx context.Context, name string) error {
	if _, err := sequencer.Define(name, sequencer.Config{}); err != nil {
		return err
	}
	if c.ctx.Err() != nil {
		return c.errClosed()
	}
	var found wire.SequencerResponse
	if err := c.callOwner(ctx, name, wire.PathOpen, wire.OpenRequest{Name: name}, &found); err != nil {
		return err
	}
	ref, err := found.Sequencer.Ref()
	if err != nil {
		return err
	}
	return c.destroy(ctx, ref)
}

// Forget ends this client's handle on a named sequencer and gives its logical node back,
// so that the client keeps nothing of the name: the handle returns sequencer.ErrClosed from
// then on, and the next create or open makes another. Handles of CreateStriped stay. A name
// without a handle is ignored.
//
// Errors: sequencer.ErrClosed; and, when ctx ended, an error that matches ctx.Err() and
// ErrUnavailable. The handle has ended then too, unless another create or open of the name
// was in progress, and its logical node is given back in the background.
func (c *Client) Forget(ctx context.Context, name string) error {
	unlock, err := c.turn(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	if e := c.handles.live(name); e != nil {
		return c.giveBack(ctx, []*entry{e})
	}
	return nil
}

// destroy ends one life; that it has ended already is not an error.
func (c *Client) destroy(ctx context.Context, ref sequencer.Ref) error {
	name := ref.Definition.Name()
	err := c.callOwner(ctx, name, wire.PathDestroy, wire.DestroyRequest{Name: name, Life: ref.Life}, &wire.Done{})
	if err != nil && !errors.Is(err, sequencer.ErrDestroyed) && !errors.Is(err, sequencer.ErrNotFound) {
		return err
	}
	c.ended(name, ref.Life)
	return nil
}

// turn takes a name's turn, or says why it cannot.
func (c *Client) turn(ctx context.Context, name string) (unlock func(), err error) {
	if c.ctx.Err() != nil {
		return nil, c.errClosed()
	}
	return c.handles.lock(ctx, name)
}

// find asks for a name's life and makes the handle for it, to be attached if owed.
func (c *Client) find(ctx context.Context, name, path string, in any, owed bool) (*entry, error) {
	ref, stamp, err := c.life(ctx, name, path, in)
	if err != nil {
		return nil, err
	}
	return c.keep(ref, stamp, &entry{owed: owed})
}

// life asks for a name's life.
func (c *Client) life(ctx context.Context, name, path string, in any) (sequencer.Ref, wire.Stamp, error) {
	began := c.clock.Mono()
	var res wire.SequencerResponse
	if err := c.callOwner(ctx, name, path, in, &res); err != nil {
		return sequencer.Ref{}, wire.Stamp{}, err
	}
	c.stamped(res.Stamp, began)
	ref, err := res.Sequencer.Ref()
	return ref, res.Stamp, err
}

// keep makes a handle for an entry on a life that was answered with a stamp, and has the
// session look after it. One that is owed no attachment is shown to the owner, so that
// this tells it of a destroy.
func (c *Client) keep(ref sequencer.Ref, s wire.Stamp, e *entry) (*entry, error) {
	_, e.control = sequencer.New(ref, &backend{client: c, entry: e}, c.clock)
	if !c.handles.put(e) {
		return nil, c.errClosed()
	}
	c.session.do(func(m *session.Machine, now session.Now) {
		e.session = m.Add(now, e.control, session.Stamp(s), e.owed, e.stripe)
	})
	return e, nil
}
