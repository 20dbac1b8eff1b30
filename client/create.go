package client

import (
	"context"
	"errors"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/session"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

type entry = handles.Entry[*session.Handle]

// CreateSequencer returns this client's handle on a named sequencer, creates the sequencer if the
// grid has none with that name, and attaches a logical node. There is one handle per name and
// client: an existing handle is returned as it is, even if Detached. If only the attach failed, the
// handle is returned, Detached, with the error; calling again retries the attach.
//
// Errors: sequencer.ErrInvalidConfig; ErrConflict if the grid has the name with another definition
// (the message has both); ErrNoFreeNode; ErrClosed; and, when ctx ended, an error that matches
// ctx.Err() and ErrUnavailable.
func (c *Client) CreateSequencer(ctx context.Context, name string, cfg sequencer.Config) (*sequencer.Sequencer, error) {
	def, err := sequencer.Define(name, cfg)
	if err != nil {
		return nil, err
	}
	end := func(error) {}
	if c.handles.Live(name) == nil {
		ctx, end = c.spans.named(ctx, "create", name)
	}
	s, err := c.handles.Create(ctx, def, func() (*entry, error) {
		return c.createAttached(ctx, def)
	})
	end(err)
	return s, err
}

// OpenSequencer returns this client's handle on an existing sequencer, Detached unless this client
// has attached it before.
//
// Errors: sequencer.ErrInvalidConfig, ErrNotFound, ErrClosed; and, when ctx ended, an error that
// matches ctx.Err() and ErrUnavailable.
func (c *Client) OpenSequencer(ctx context.Context, name string) (*sequencer.Sequencer, error) {
	if _, err := sequencer.Define(name, sequencer.Config{}); err != nil {
		return nil, err
	}
	return c.handles.Open(ctx, name, func() (*entry, error) {
		return c.find(ctx, name, wire.PathOpen, wire.OpenRequest{Name: name}, false)
	})
}

// DestroySequencer ends the name's current life in the whole grid. [sequencer.Sequencer.Destroy]
// only ends the life of its handle.
//
// The name can be created again, with IDs above all earlier ones. A create with an epoch or a layout with
// which they could not be is refused with sequencer.ErrConflict, unless 1,024 other names of the same
// partition were destroyed in between.
//
// Errors: sequencer.ErrInvalidConfig, ErrNotFound, ErrClosed; and, when ctx ended, an error that
// matches ctx.Err() and ErrUnavailable.
func (c *Client) DestroySequencer(ctx context.Context, name string) error {
	if _, err := sequencer.Define(name, sequencer.Config{}); err != nil {
		return err
	}
	if err := c.tasks.Err(); err != nil {
		return err
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

// Forget ends this client's handle on a named sequencer, releases its logical node, and drops
// everything that the client keeps for the name: the handle returns sequencer.ErrClosed from then
// on, and the next create or open makes another. Handles from CreateStriped stay. A name without a
// handle is ignored.
//
// Errors: sequencer.ErrClosed; and, when ctx ended, an error that matches ctx.Err() and
// ErrUnavailable. The handle has ended then too, unless another create or open for the name was in
// progress, and its logical node is released in the background.
func (c *Client) Forget(ctx context.Context, name string) error {
	return c.handles.Forget(ctx, name)
}

// destroy ends one life. It returns nil if the life has ended already.
func (c *Client) destroy(ctx context.Context, ref attachment.Ref) error {
	name := ref.Definition.Name()
	err := c.callOwner(ctx, name, wire.PathDestroy, wire.DestroyRequest{Name: name, Life: ref.Life}, &wire.Done{})
	if err != nil && !errors.Is(err, sequencer.ErrDestroyed) && !errors.Is(err, sequencer.ErrNotFound) {
		return err
	}
	c.ended(name, ref.Life)
	return nil
}

// find requests a name's life and makes the handle for it, to be attached if owed.
func (c *Client) find(ctx context.Context, name, path string, in any, owed bool) (*entry, error) {
	ref, stamp, err := c.life(ctx, name, path, in)
	if err != nil {
		return nil, err
	}
	return c.keep(ref, stamp, &entry{Owed: owed}, nil)
}

// life requests a name's life from its owner.
func (c *Client) life(ctx context.Context, name, path string, in any) (attachment.Ref, wire.Stamp, error) {
	began := c.clock.Mono()
	var res wire.SequencerResponse
	if err := c.callOwner(ctx, name, path, in, &res); err != nil {
		return attachment.Ref{}, wire.Stamp{}, err
	}
	c.stamped(res.Stamp, began)
	ref, err := res.Sequencer.Ref()
	return ref, res.Stamp, err
}

// keep makes a handle for an entry on a life from a reply with a stamp, and adds it to the session.
// A handle that is owed no attachment is registered with the owner, which then reports a destroy.
// first is the attachment in the reply, nil for none.
func (c *Client) keep(ref attachment.Ref, s wire.Stamp, e *entry, first *firstAttach) (*entry, error) {
	_, e.Control = attachment.New(ref, &backend{client: c, entry: e, first: first}, c.clock)
	if first != nil {
		c.memory.bind(e.Control, first.seat)
	}
	if err := c.handles.Put(e); err != nil {
		c.memory.gone(e.Control, false)
		return nil, err
	}
	c.session.do(func(m *session.Machine, now session.Now) {
		e.State = m.Add(now, e.Control, session.Stamp(s), e.Owed, e.Stripe)
	})
	return e, nil
}
