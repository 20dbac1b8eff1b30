package sequencer

import (
	"context"
	"errors"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
)

// AttachLogicalNode gets a logical node from the grid. Concurrent calls are served one
// after the other.
//
// Errors: ErrAttached if the handle has one, ErrDestroyed, ErrClosed,
// ErrNoFreeNode if all are taken; and when ctx ended, an error that matches
// ctx.Err() and ErrUnavailable. After an error the handle is Detached.
func (s *Sequencer) AttachLogicalNode(ctx context.Context) error {
	if err := s.takeTurn(ctx); err != nil {
		return err
	}
	defer s.giveTurn()
	t := s.now.Load()
	switch {
	case t.final != nil:
		return s.named(t.final)
	case t.state == Attached:
		return s.named(ErrAttached)
	}
	a, err := s.backend.Attach(ctx, t.node)
	if err != nil {
		return s.ended(err)
	}
	return s.install(ctx, a)
}

// DetachLogicalNode releases the logical node. IDs stop immediately; waiting calls of Next return
// ErrDetached. Also after an error the handle is Detached, and the grid reclaims the node, at the
// latest when the session has ended.
//
// Errors: ErrDetached if the handle has none, ErrDestroyed, ErrClosed; and when ctx ended, an error
// that matches ctx.Err() and ErrUnavailable.
func (s *Sequencer) DetachLogicalNode(ctx context.Context) error {
	return s.detach(ctx, byCaller)
}

// Destroy ends this life of the sequencer in the whole grid: every handle becomes Destroyed, and
// the grid frees its logical nodes. The name can be created again; that is another life, which old
// handles cannot touch. Destroying twice does nothing the second time.
//
// With the same epoch and layout the IDs of the next life are above all earlier ones. With others they can
// repeat earlier IDs in a grid, and are refused with ErrConflict by a store: use another name.
//
// Errors: ErrClosed; and when ctx ended, an error that matches ctx.Err() and ErrUnavailable: the
// sequencer may be destroyed then or not.
func (s *Sequencer) Destroy(ctx context.Context) error {
	if t := s.now.Load(); t.final != nil {
		if errors.Is(t.final, ErrDestroyed) {
			return nil
		}
		return s.named(t.final)
	}
	err := s.backend.Destroy(ctx)
	if err == nil || errors.Is(err, ErrDestroyed) || errors.Is(err, ErrNotFound) {
		s.end(Destroyed, ErrDestroyed)
		return nil
	}
	return err
}

// takeTurn waits until no other attach or detach is in progress and excludes them until giveTurn.
func (s *Sequencer) takeTurn(ctx context.Context) error {
	select {
	case <-s.turn:
		return nil
	default:
	}
	select {
	case <-s.turn:
		return nil
	case <-ctx.Done():
		return failure.Errorf(ErrUnavailable, "sequencer %q: another attach or detach is in progress: %w",
			s.Name(), ctx.Err())
	}
}

func (s *Sequencer) giveTurn() { s.turn <- struct{}{} }

// install replaces the handle's attachment. Only the owner of the turn calls it. If the handle has
// ended in between, install releases the new attachment.
func (s *Sequencer) install(ctx context.Context, a attachment) error {
	for {
		t := s.now.Load()
		if t.final != nil {
			_ = s.backend.Detach(ctx, release{ID: a.ID, Node: a.Node})
			return s.named(t.final)
		}
		last := t.last
		if t.gen != nil {
			last = max(last, t.gen.stop())
		}
		gen := newGenerator(s.def, a, last, &s.counts)
		if s.swap(t, &tenure{state: Attached, gen: gen, last: last, node: preference{Node: a.Node}}) {
			return nil
		}
	}
}

// swap replaces the snapshot t and wakes the calls that wait on it. It reports false if another
// snapshot replaced t first.
func (s *Sequencer) swap(t, next *tenure) bool {
	if !s.now.CompareAndSwap(t, next) {
		return false
	}
	if t.gen != nil {
		t.gen.wake()
	}
	if t.lost != nil {
		close(t.lost.replaced)
	}
	return true
}

// lastUsed returns the largest timestamp that the handle ever used.
func (t *tenure) lastUsed() clustertime.Tick {
	if t.gen == nil {
		return t.last
	}
	return max(t.last, t.gen.lastUsed())
}

// ended ends the handle if err reports that its life has ended. It returns err.
func (s *Sequencer) ended(err error) error {
	if errors.Is(err, ErrDestroyed) {
		s.end(Destroyed, ErrDestroyed)
	}
	return err
}

// detach moves an Attached handle to Detached.
func (s *Sequencer) detach(ctx context.Context, by detachment) error {
	if err := s.takeTurn(ctx); err != nil {
		return err
	}
	defer s.giveTurn()
	for {
		t := s.now.Load()
		switch {
		case t.final != nil:
			return s.named(t.final)
		case t.state == Detached:
			if by == byCaller && !s.swap(t, &tenure{last: t.last, node: t.node, by: by}) {
				continue
			}
			return s.named(ErrDetached)
		}
		rel := t.release()
		if s.swap(t, &tenure{last: t.lastUsed(), node: t.node, by: by}) {
			return s.ended(s.backend.Detach(ctx, rel))
		}
	}
}

// release stops the generator and returns the last timestamp that it used.
func (t *tenure) release() release {
	return release{ID: t.gen.id, Node: t.gen.node, LastUsed: t.gen.stop()}
}

// end ends the handle, immediately and permanently. It returns the release of an attached
// handle.
func (s *Sequencer) end(state State, final error) (release, bool) {
	for {
		t := s.now.Load()
		if t.final != nil {
			return release{}, false
		}
		next := &tenure{state: state, final: final, node: t.node}
		if t.gen == nil {
			if s.swap(t, next) {
				return release{}, false
			}
			continue
		}
		rel := t.release()
		if s.swap(t, next) {
			return rel, true
		}
	}
}
