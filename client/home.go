package client

import (
	"context"
	crand "crypto/rand"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
	"github.com/snowgrid/snowgrid/wire"
)

// home is the grid as one handle sees it.
type home struct {
	client *Client
	entry  *entry
}

// Attach implements sequencer.Home. Every call makes a fresh attachment ID; its
// tries all carry that one, so that a lost answer costs no second logical node.
func (h *home) Attach(ctx context.Context, ref sequencer.Ref, p sequencer.Preference) (sequencer.Attachment, error) {
	c := h.client
	var id sequencer.AttachmentID
	_, _ = crand.Read(id[:])
	claim := h.entry.claim(ref, sequencer.Attachment{ID: id})
	claim.Node = nil
	if !p.Any {
		claim.Node = &p.Node
	}
	began := c.clock.Mono()
	var res wire.AttachResponse
	err := c.callOwner(ctx, ref.Definition.Name(), wire.PathAttach, wire.AttachRequest{Holder: c.holder, Claim: claim}, &res)
	if err != nil {
		return sequencer.Attachment{}, err
	}
	c.stamped(res.Stamp, began)
	if int(res.Node) >= ref.Definition.Nodes() {
		return sequencer.Attachment{}, failure.Errorf(sequencer.ErrUnavailable, "sequencer %q: the owner answered logical node %d of %d", ref.Definition.Name(), res.Node, ref.Definition.Nodes())
	}
	a := sequencer.Attachment{ID: id, Node: res.Node, Grant: res.Grant}
	h.entry.saw(res.Stamp)
	h.entry.told(a)
	h.entry.renewAt(c.clock.Mono() + c.pause())
	c.look()
	return a, nil
}

// Detach implements sequencer.Home. If ctx ends first it is tried on in the
// background, until the session would have ended anyway.
func (h *home) Detach(ctx context.Context, ref sequencer.Ref, rel sequencer.Release) error {
	err := h.client.release(ctx, ref, rel)
	if errors.Is(err, sequencer.ErrUnavailable) && ctx.Err() != nil {
		h.client.releaseLater(ref, rel)
	}
	return err
}

// Destroy implements sequencer.Home.
func (h *home) Destroy(ctx context.Context, ref sequencer.Ref) error {
	return h.client.destroy(ctx, ref)
}

// release gives an attachment back.
func (c *Client) release(ctx context.Context, ref sequencer.Ref, rel sequencer.Release) error {
	req := wire.DetachRequest{
		Holder: c.holder, Sequencer: wire.SequencerOf(ref),
		ID: rel.ID, Node: rel.Node, LastUsed: rel.LastUsed,
	}
	return c.callOwner(ctx, ref.Definition.Name(), wire.PathDetach, req, &wire.Done{})
}

// background runs f until it returns or the client ends.
func (c *Client) background(f func(ctx context.Context)) {
	if c.handles.begin(&c.done) {
		go func() {
			defer c.done.Done()
			f(c.ctx)
		}()
	}
}

// ended takes the handles on a life to their end because the life has ended, and gives
// their logical nodes back, so that the next life need not count them as used up.
func (c *Client) ended(name string, life sequencer.Life) {
	for _, e := range c.handles.forgetLife(name, life) {
		if rel, held := e.control.Destroy(); held {
			c.releaseLater(e.control.Ref(), rel)
		}
	}
}

// claim is what the entry's handle shows of an attachment.
func (e *entry) claim(ref sequencer.Ref, a sequencer.Attachment) wire.Claim {
	e.mu.Lock()
	defer e.mu.Unlock()
	return wire.Claim{
		Sequencer: wire.SequencerOf(ref), ID: a.ID, Node: &a.Node,
		Grid: e.seen.Grid, Version: e.seen.Version, Until: a.Grant.Until,
	}
}

// saw notes the newest answer about the entry's life. One that was overtaken must
// not replace it: it would make the grid believe that a loss came in between.
func (e *entry) saw(s wire.Stamp) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s.Grid != e.seen.Grid || s.Version >= e.seen.Version {
		e.seen = s
	}
	e.failures = 0
}

// told notes the owner's last whole answer about an attachment.
func (e *entry) told(a sequencer.Attachment) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last, e.print = a, sequencer.PrintOf(e.control.Ref().Life, a)
}

// answered returns the last whole answer about the attachment that the handle
// holds, or a zero Attachment if it holds none, and its print; false if there was no
// answer yet.
func (e *entry) answered() (sequencer.Attachment, sequencer.Print, bool) {
	held, has := e.control.Held()
	e.mu.Lock()
	defer e.mu.Unlock()
	if !has {
		return sequencer.Attachment{}, e.bare, true
	}
	return e.last, e.print, e.last.ID == held.ID
}

// renewAt sets when the entry is renewed next.
func (e *entry) renewAt(at time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.next = at
}

// renewAgainAt sets when the entry is renewed after a failure: each one in succession
// doubles the pause, up to most, so that an owner with more to do than it can is not
// asked ever more. It returns how many failures there were in succession.
func (e *entry) renewAgainAt(now, most time.Duration) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	pause := max(min(retryAfter<<e.failures, most), retryAfter)
	e.failures = min(e.failures+1, 10)
	e.next = now + pause - rand.N(pause/4)
	return e.failures
}

// due is when the entry is renewed next.
func (e *entry) due() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.next
}

// begin reports whether nothing was under way for the entry, and notes that
// something is; finish takes that back.
func (e *entry) begin() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	was := e.busy
	e.busy = true
	return !was
}

func (e *entry) finish() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.busy = false
}

// look makes the session look at its handles soon.
func (c *Client) look() {
	select {
	case c.nudge <- struct{}{}:
	default:
	}
}

// pause returns how long a holder waits between two renewals: a quarter of the
// window less up to a fifth of that, so that holders spread.
func (c *Client) pause() time.Duration {
	quarter := c.window() / 4
	return quarter - rand.N(quarter/5+1)
}
