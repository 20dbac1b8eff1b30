package store

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// holder is one handle's side of the store: its backend, with the life and the mark that it
// was opened with (H8).
type holder struct {
	client    *Client
	ref       attachment.Ref
	mark      clustertime.Tick
	counted   attachment.Life // see record.Document
	control   *attachment.Control
	detaching atomic.Bool
	attaching atomic.Int32          // attaches in progress
	owed      atomic.Bool           // its create could not attach it
	failed    atomic.Pointer[error] // from the last attach or renewal, nil after a success
}

// because adds the error from the last attach or renewal to a reason.
func (h *holder) because(reason string) string {
	if failed := h.failed.Load(); failed != nil {
		return reason + "; last error: " + (*failed).Error()
	}
	return reason
}

func (h *holder) name() string { return h.ref.Definition.Name() }

// onceKey marks a context whose attach makes one round.
type onceKey struct{}

// Attach implements [attachment.Backend]: it takes a record, and waits for a free one until
// ctx ends.
func (h *holder) Attach(ctx context.Context, _ attachment.Ref, p attachment.Preference) (attachment.Attachment, error) {
	ctx, end := h.client.spans.Begin(ctx, "attach", slog.String("sequencer", h.name()))
	a, err := h.attach(ctx, p)
	end(err)
	return a, err
}

func (h *holder) attach(ctx context.Context, p attachment.Preference) (attachment.Attachment, error) {
	c := h.client
	h.attaching.Add(1)
	defer h.attaching.Add(-1)
	r := c.room(h.name())
	late := ctx.Err() != nil
	var before error
	for try := 1; ; try++ {
		wake := r.wake.Wait()
		s, err := c.take(ctx, h, p)
		if err == nil {
			return c.attached(s), nil
		}
		if late && !isFinal(err) {
			return attachment.Attachment{}, c.tasks.EndedBefore(ctx, h.name())
		}
		err = causeOf(ctx, err, before)
		before = err
		h.failed.Store(&err)
		if isFinal(err) || ctx.Value(onceKey{}) != nil {
			return attachment.Attachment{}, err
		}
		if e := c.await(ctx, c.nextRound(try, err), wake); e != nil {
			return attachment.Attachment{}, c.notAttached(h.name(), e, err)
		}
	}
}

// attached puts a seat that was taken into use.
func (c *Client) attached(s *seat) attachment.Attachment {
	s.h.owed.Store(false)
	s.h.failed.Store(nil)
	c.mu.Lock()
	c.seats[s.id] = s
	c.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	// With no version to wait for, it is ready immediately.
	s.ready = s.machine.Record().Graceful || c.cfg.Known == nil
	c.tasks.Go(s.keep)
	c.tasks.Go(s.becomeReady)
	g, _ := s.machine.Grant()
	return attachment.Attachment{ID: s.id, Node: s.node, Grant: g}
}

// notAttached returns the error of an attach after its context ended.
func (c *Client) notAttached(name string, ended, last error) error {
	if c.tasks.Err() != nil {
		return failure.Errorf(sequencer.ErrClosed, "sequencer %q: the client was closed", name)
	}
	if full, is := errors.AsType[*fullError](last); is {
		return full.ended(ended)
	}
	return failure.Errorf(sequencer.ErrUnavailable, "sequencer %q: no logical node in time: %w; last error: %s%s", name,
		ended, last.Error(), adviceFor(last))
}

// Detach implements [attachment.Backend].
func (h *holder) Detach(ctx context.Context, _ attachment.Ref, rel attachment.Release) error {
	c := h.client
	late := ctx.Err() != nil
	var failed error
	for _, s := range c.seatsFor(h, rel.ID) {
		s.stop(releaseOf(s, rel))
		if err := s.finish(ctx); err != nil {
			c.finishLater(s)
			failed = c.gaveUp(ctx, h.name(), err)
			if late {
				failed = c.tasks.EndedBefore(ctx, h.name())
			}
		}
	}
	return failed // nil too if it was lost before
}

// Destroy implements [attachment.Backend].
func (h *holder) Destroy(ctx context.Context, ref attachment.Ref) error {
	return h.client.destroy(ctx, ref)
}

// keeper implements handles.Keeper for a client.
type keeper struct{ c *Client }

// AttachFailed implements handles.Keeper.
func (keeper) AttachFailed(e *entry) { e.State.owed.Store(true) }

// Return implements handles.Keeper.
func (k keeper) Return(_ attachment.Ref, rel attachment.Release) {
	if s := k.c.seatOf(rel.ID); s != nil {
		for _, s := range k.c.seatsFor(s.h, rel.ID) {
			s.stop(releaseOf(s, rel))
			k.c.finishLater(s)
		}
	}
}

// Remove implements handles.Keeper: seats go when their records are returned.
func (keeper) Remove([]*entry) {}

// releaseOf returns the release of a seat that ends with an attachment: a handle has used nothing
// under another one.
func releaseOf(s *seat, rel attachment.Release) attachment.Release {
	if s.id == rel.ID {
		return rel
	}
	return attachment.Release{ID: s.id, Node: s.node}
}

// finishLater returns a seat's record in the background, for as long as a window: then
// others may take it anyway.
func (c *Client) finishLater(s *seat) {
	c.releases.Add(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, c.cfg.Window)
		defer cancel()
		if err := s.finish(ctx); err != nil && c.tasks.Err() == nil {
			c.log.Warn("logical node not returned; others may take it when its window has ended", "sequencer", s.h.name(),
				"node", s.node, "error", err)
			s.mu.Lock()
			s.machine.GiveUp()
			s.mu.Unlock()
			c.remove(s)
		}
	})
}
