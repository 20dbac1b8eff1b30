package client

import (
	"context"
	"errors"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/session"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// backend implements attachment.Backend for one handle, by calls to the grid.
type backend struct {
	client *Client
	entry  *entry
	first  *firstAttach // nil when the handle has attached; the handle calls Attach in turns
}

// Attach implements attachment.Backend. Every call makes a fresh attachment ID, which all its tries
// carry, so a lost reply costs no second logical node. The call that created the sequencer may have
// been the first try.
func (b *backend) Attach(ctx context.Context, ref attachment.Ref, p attachment.Preference) (attachment.Attachment,
	error) {
	ctx, end := b.client.spans.named(ctx, "attach", ref.Definition.Name())
	a, err := b.attach(ctx, ref, p)
	end(err)
	return a, err
}

func (b *backend) attach(ctx context.Context, ref attachment.Ref, p attachment.Preference) (attachment.Attachment,
	error) {
	c := b.client
	id, first := handles.NewAttachment(), b.first
	b.first = nil
	if first != nil && p.Any {
		if a, done, err := b.takeFirst(ref, first); done {
			return a, err
		}
		id = first.id
	}
	var previous *attachment.ID
	if p.Any {
		p, previous = c.memory.remembered(c.memory.seat(b.entry.Control))
	}
	identity, err := c.identity()
	if err != nil {
		return attachment.Attachment{}, err
	}
	claim := ask(c.session, func(*session.Machine) session.Claim { return b.entry.State.AttachClaim(id, p) })
	began := c.clock.Mono()
	var res wire.AttachResponse
	req := wire.AttachRequest{Holder: c.holder, Claim: claimOnWire(claim), Previous: previous, Identity: identity,
		About: c.about}
	err = c.callOwner(ctx, ref.Definition.Name(), wire.PathAttach, req, &res)
	c.counts.attached(c.clock.Mono()-began, err)
	if err != nil {
		return attachment.Attachment{}, c.identified(identity, err)
	}
	return b.attached(ref, attachment.Attachment{ID: id, Node: res.Node, Grant: res.Grant}, res.Stamp, began)
}

// attached applies an attachment from the reply to a request sent at began.
func (b *backend) attached(ref attachment.Ref, a attachment.Attachment, s wire.Stamp,
	began time.Duration) (attachment.Attachment, error) {
	c := b.client
	if !ref.HasNode(a.Node) {
		return attachment.Attachment{}, failure.Errorf(sequencer.ErrUnavailable,
			"sequencer %v: the owner answered logical node %d", ref.Definition, a.Node)
	}
	if seat := c.memory.seat(b.entry.Control); seat != nil {
		c.memory.nodes.Attached(seat, a.Node, a.ID)
	}
	c.session.do(func(m *session.Machine, now session.Now) {
		m.Attached(now, b.entry.State, a, session.Stamp(s), began)
	})
	return a, nil
}

// Detach implements attachment.Backend. If ctx ends first, the detach is retried in the background,
// until the session would have ended anyway.
func (b *backend) Detach(ctx context.Context, ref attachment.Ref, rel attachment.Release) error {
	used := ask(b.client.session, func(m *session.Machine) session.Used { return m.TakeUsed(b.entry.State) })
	err := b.client.release(ctx, ref, rel, used)
	if errors.Is(err, sequencer.ErrUnavailable) && ctx.Err() != nil {
		b.client.session.Return(ref, rel)
	}
	return err
}

// Destroy implements attachment.Backend.
func (b *backend) Destroy(ctx context.Context, ref attachment.Ref) error {
	return b.client.destroy(ctx, ref)
}

// release releases an attachment and reports the sequencer's use since the last report.
func (c *Client) release(ctx context.Context, ref attachment.Ref, rel attachment.Release, used session.Used) error {
	req := wire.DetachRequest{
		Holder: c.holder, Sequencer: wire.SequencerOf(ref),
		ID: rel.ID, Node: rel.Node, LastUsed: rel.LastUsed, IDs: used.IDs, Waits: used.Waits,
	}
	return c.callOwner(ctx, ref.Definition.Name(), wire.PathDetach, req, &wire.Done{})
}

// ended ends all handles on a life, because the life has ended.
func (c *Client) ended(name string, life attachment.Life) {
	c.session.do(func(m *session.Machine, _ session.Now) { m.Ended(name, life) })
}

// stamped applies the time in a reply to a request sent at began.
func (c *Client) stamped(s wire.Stamp, began time.Duration) {
	c.session.do(func(m *session.Machine, now session.Now) { m.Stamped(now, session.Stamp(s), began) })
}
