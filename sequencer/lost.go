package sequencer

import (
	"cmp"
	"context"
	"errors"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
)

// What happens to a handle whose logical node the grid gave to another holder. Its backend
// learns of it by a renewal that is refused, and then calls Lapse when the time it was
// granted is over, and Replace until Lost says no.

// Lost reports whether the handle still lacks a logical node in place of that of the
// attachment id, which the grid gave to another holder.
func (c *Control) Lost(id AttachmentID) bool {
	t := c.s.now.Load()
	return t.gen != nil && t.gen.id == id || t.lost != nil
}

// Replace tries once to get an attachment in place of id, whose logical node the grid gave
// to another holder. What id was granted stays usable until the new one is there. If it
// fails, Next tells why.
func (c *Control) Replace(ctx context.Context, id AttachmentID) error {
	s := c.s
	if err := s.takeTurn(ctx); err != nil {
		return err
	}
	defer s.giveTurn()
	if !c.Lost(id) {
		return nil
	}
	a, err := s.backend.Attach(ctx, s.ref, s.now.Load().node)
	if err != nil {
		s.stillLost(err)
		return s.ended(err)
	}
	return s.install(a)
}

// ReplaceAtEnd is Replace for a backend that renews attachments which no handle has yet: the new
// attachment takes the place of id when its own grant has begun, or the grants of id have ended.
// Until then, or until ctx ends, the handle uses the rest of those.
func (c *Control) ReplaceAtEnd(ctx context.Context, id AttachmentID) error {
	s := c.s
	if err := s.takeTurn(ctx); err != nil {
		return err
	}
	if !c.Lost(id) {
		s.giveTurn()
		return nil
	}
	a, err := s.backend.Attach(ctx, s.ref, s.now.Load().node)
	s.giveTurn() // a caller that detaches the handle meanwhile does not wait
	if err != nil {
		s.stillLost(err)
		return s.ended(err)
	}
	for {
		t := s.now.Load()
		if t.gen == nil || t.gen.id != id {
			break
		}
		rights := t.gen.rights.Load()
		end := min(a.Grant.From, rights.until())
		if s.clock.Now() >= end || s.clock.Wait(ctx, end, rights.replaced) != nil {
			break
		}
	}
	unbound := context.WithoutCancel(ctx)
	if err := s.takeTurn(unbound); err != nil {
		return err
	}
	defer s.giveTurn()
	if !c.Lost(id) {
		return s.ended(s.backend.Detach(unbound, s.ref, Release{ID: a.ID, Node: a.Node}))
	}
	return s.install(a)
}

// Lapse detaches the handle if its attachment is id, whose logical node the grid has given
// to another holder, and all grants of id have ended. It returns the end of the last grant,
// and false if id is not, or no longer, the handle's attachment.
func (c *Control) Lapse(id AttachmentID) (until clustertime.Tick, held bool) {
	s := c.s
	for {
		t := s.now.Load()
		if t.gen == nil || t.gen.id != id {
			return 0, false
		}
		if until = t.gen.rights.Load().until(); s.clock.Now() < until {
			return until, true
		}
		next := &tenure{last: max(t.last, t.gen.stop()), node: t.node, by: byIdle}
		if s.idle.Load() == 0 { // else it takes a logical node when there is need for one
			next.by, next.lost = byLoss, &loss{replaced: make(chan struct{})}
		}
		if s.swap(t, next) {
			return 0, false
		}
	}
}

// stillLost notes why a handle that lost its logical node did not get another.
func (s *Sequencer) stillLost(err error) {
	cause := ErrUnavailable
	if errors.Is(err, ErrNoFreeNode) || errors.Is(err, ErrQuota) {
		cause = err
	}
	for {
		t := s.now.Load()
		if t.lost == nil {
			return
		}
		next := *t
		next.lost = &loss{cause: cause, replaced: make(chan struct{})}
		if s.swap(t, &next) {
			return
		}
	}
}

// awaitNode waits until a handle that lost its logical node has another picture than t.
func (s *Sequencer) awaitNode(ctx context.Context, t *tenure) error {
	if err := s.await(ctx, farAhead, t.lost.replaced, 0, nodeless); err != nil {
		return s.lossError(t.lost, err)
	}
	return nil
}

// lossError returns the error for a lost logical node, with the reason for the lack of another.
func (s *Sequencer) lossError(l *loss, err error) error {
	cause := cmp.Or(l.cause, ErrUnavailable)
	return failure.Errorf(cause, "sequencer %q: its logical node was lost after this holder was silent for too long, and was not replaced yet: %s: %w",
		s.Name(), s.unnamed(cause), err)
}
