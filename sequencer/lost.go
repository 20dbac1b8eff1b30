package sequencer

import (
	"cmp"
	"context"
	"errors"

	"github.com/snowgrid/snowgrid/internal/attachment/bridge"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
)

// The grid may give a handle's logical node to another holder. The backend then gets a refused
// renewal; it calls Lapse when the granted time is over, and Replace until Lost returns false.

// Lost reports whether the handle still needs a logical node to replace attachment id, whose node
// the grid gave to another holder.
func (c *control) Lost(id bridge.ID) bool {
	t := c.s.now.Load()
	return t.gen != nil && t.gen.id == id || t.lost != nil
}

// Replace tries once to get an attachment in place of id, whose logical node the grid gave to
// another holder. The grants of id stay usable until the new attachment is installed. After a
// failure, Next returns the reason.
func (c *control) Replace(ctx context.Context, id bridge.ID) error {
	s := c.s
	if err := s.takeTurn(ctx); err != nil {
		return err
	}
	defer s.giveTurn()
	if !c.Lost(id) {
		return nil
	}
	a, err := s.backend.Attach(ctx, s.now.Load().node)
	if err != nil {
		s.stillLost(id, err)
		return s.ended(err)
	}
	return s.install(ctx, a)
}

// ReplaceAtEnd is Replace for a backend that renews attachments before a handle has them: the new
// attachment replaces id when its own grant has begun, or the grants of id have ended. Until then,
// or until ctx ends, the handle uses up the grants of id.
func (c *control) ReplaceAtEnd(ctx context.Context, id bridge.ID) error {
	s := c.s
	if err := s.takeTurn(ctx); err != nil {
		return err
	}
	if !c.Lost(id) {
		s.giveTurn()
		return nil
	}
	a, err := s.backend.Attach(ctx, s.now.Load().node)
	s.giveTurn() // let a caller detach the handle without waiting
	if err != nil {
		s.stillLost(id, err)
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
		return s.ended(s.backend.Detach(unbound, release{ID: a.ID, Node: a.Node}))
	}
	return s.install(unbound, a)
}

// Lapse detaches the handle if its attachment is id, whose logical node the grid has given to
// another holder, and all grants of id have ended. It returns the end of the last grant, or false
// if id is not the handle's attachment.
func (c *control) Lapse(id bridge.ID) (until clustertime.Tick, held bool) {
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
		if s.idle.Load() == 0 { // else Next attaches when it needs a logical node
			next.by, next.lost = byLoss, &loss{replaced: make(chan struct{})}
			if failed := t.gen.failed.Load(); failed != nil {
				next.lost.cause = s.unavailable(*failed)
			}
		}
		if s.swap(t, next) {
			return 0, false
		}
	}
}

// stillLost records the reason why a handle that lost its attachment id did not get another.
func (s *Sequencer) stillLost(id bridge.ID, err error) {
	cause := s.unavailable(err)
	if errors.Is(err, ErrNoFreeNode) || errors.Is(err, ErrQuota) {
		cause = err
	}
	for {
		t := s.now.Load()
		if t.lost == nil {
			(&control{s}).NotRenewed(id, err)
			return
		}
		next := *t
		next.lost = &loss{cause: cause, replaced: make(chan struct{})}
		if s.swap(t, &next) {
			return
		}
	}
}

// unavailable returns an error with the text of the last failed attempt. It matches ErrUnavailable
// and not err, which may be the end of the attempt's own context.
func (s *Sequencer) unavailable(err error) error {
	return failure.Errorf(ErrUnavailable, "last error: %s", s.unnamed(err))
}

// lossError returns the error for a lost logical node, with the reason for the lack of another.
func (s *Sequencer) lossError(l *loss, err error) error {
	cause := cmp.Or(l.cause, ErrUnavailable)
	return failure.Errorf(cause,
		"sequencer %q: logical node lost, and not replaced yet: %s: %w",
		s.Name(), s.unnamed(cause), err)
}
