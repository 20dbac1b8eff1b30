package client

import (
	"context"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/identity"
	"github.com/snowgrid/snowgrid/internal/session"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// firstAttach is the attachment part of the reply to a create with an attach. The handle's first
// attach consumes it.
type firstAttach struct {
	id       attachment.ID
	seat     *identity.Seat // nil for none
	answer   *wire.Attached // nil: the reply has none
	identity *wire.Identity // sent with the request, nil for none
	stamp    wire.Stamp
	began    time.Duration
}

// createAttached creates a sequencer and attaches to it by one call, and makes the handle, which
// consumes the attachment by its first attach.
func (c *Client) createAttached(ctx context.Context, def sequencer.Definition) (*entry, error) {
	name, req := def.Name(), wire.CreateRequestOf(def)
	identity, err := c.identity()
	if err != nil { // the sequencer is created without one
		return c.find(ctx, name, wire.PathCreate, req, true)
	}
	first := &firstAttach{id: handles.NewAttachment(), seat: c.memory.nodes.Take(name), identity: identity,
		began: c.clock.Mono()}
	p, previous := c.memory.remembered(first.seat)
	req.Attach = &wire.CreateAttach{Holder: c.holder, ID: first.id, Node: nodeOnWire(p), Previous: previous,
		Identity: identity, About: c.about}
	var res wire.SequencerResponse
	err = c.callOwner(ctx, name, wire.PathCreate, req, &res)
	var ref attachment.Ref
	if err == nil {
		c.stamped(res.Stamp, first.began)
		ref, err = res.Sequencer.Ref()
	}
	if err != nil {
		if first.seat != nil {
			c.memory.nodes.Give(first.seat, false)
		}
		return nil, c.identified(identity, err)
	}
	first.answer, first.stamp = res.Attached, res.Stamp
	return c.keep(ref, res.Stamp, &entry{Owed: true}, first)
}

// takeFirst returns the attachment that came with the create, or an error if the grid has none
// free. done is false if the handle has to make a call of its own, under the same ID, which the
// owner may have recorded.
func (b *backend) takeFirst(ref attachment.Ref, first *firstAttach) (a attachment.Attachment, done bool, err error) {
	c, answer := b.client, first.answer
	if answer == nil {
		return a, false, nil
	}
	if err := answer.Error.Unwire(); err != nil {
		if _, again := c.tried(ask(c.session, (*session.Machine).NewCall), "", err); again {
			return a, false, nil
		}
		c.counts.attached(0, err)
		return a, true, c.identified(first.identity, err)
	}
	c.counts.attached(c.clock.Mono()-first.began, nil)
	a, err = b.attached(ref, attachment.Attachment{ID: first.id, Node: answer.Node, Grant: answer.Grant}, first.stamp,
		first.began)
	return a, true, err
}

// nodeOnWire returns a preferred logical node for a request, nil for any.
func nodeOnWire(p attachment.Preference) *sequencer.NodeID {
	if p.Any {
		return nil
	}
	return &p.Node
}
