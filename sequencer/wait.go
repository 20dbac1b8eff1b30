package sequencer

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// farAhead is a time to wait until when only an event can end the wait.
const farAhead Tick = 1 << 60

// attachPause is how long an automatic attach waits between two tries while no
// logical node is free, in ms.
const attachPause Tick = 50

// take reserves up to n slots, waiting as long as it takes. held is a slot of g that
// the caller has reserved already, negative for none.
func (s *Sequencer) take(ctx context.Context, n int, g *generator, held int64) (*generator, int64, int, error) {
	if g != nil {
		t := g.take(read(s.clock), n, held, false)
		if t.out == taken {
			return g, t.slot, t.k, nil
		}
		held = t.kept
	}
	s.waitsOpen.Add(1)
	defer s.waitsOpen.Add(-1)
	return s.wait(ctx, n, g, held)
}

// wait is take for as long as it takes.
func (s *Sequencer) wait(ctx context.Context, n int, g *generator, held int64) (*generator, int64, int, error) {
	began := Tick(-1) // cluster time at which a wait for a grant began
	defer func() {
		if g != nil {
			g.drop(held)
		}
	}()
	for {
		t := s.now.Load()
		if t.gen != g {
			if g != nil {
				g.drop(held)
			}
			g, held = t.gen, -1
		}
		if g == nil {
			if err := s.revive(ctx, t); err != nil {
				return nil, 0, 0, err
			}
			continue
		}
		seen := g.rights.Load() // before take, so that no change is missed
		got := g.take(read(s.clock), n, held, ctx.Err() == nil)
		held = got.kept
		out := got.out
		if out == noGrant && began < 0 {
			began = s.clock.Now()
			s.waits.Add(1)
		}
		if out != noGrant && began >= 0 {
			s.waitEnded(began)
			began = -1
		}
		switch out {
		case taken:
			return g, got.slot, got.k, nil
		case stopped:
			if s.now.Load() != t {
				continue // what follows is there already
			}
		case exhausted:
			return nil, 0, 0, s.exhausted()
		}
		if err := s.clock.Wait(ctx, wakeTime(seen, got.at, out), seen.replaced); err != nil {
			if began >= 0 {
				s.waitEnded(began)
			}
			return nil, 0, 0, s.waitError(err, got.at, out)
		}
	}
}

// wakeTime is when cluster time alone may end a wait.
func wakeTime(seen *rights, at Tick, out outcome) Tick {
	switch out {
	case aheadTime:
		return at
	case noGrant:
		if from, ok := seen.after(at); ok {
			return from
		}
	}
	return farAhead
}

// waitEnded records a wait for a grant that began at the given cluster time.
func (s *Sequencer) waitEnded(began Tick) {
	waited := (s.clock.Now() - began) * int64(time.Millisecond)
	for {
		longest := s.longest.Load()
		if waited <= longest || s.longest.CompareAndSwap(longest, waited) {
			return
		}
	}
}

// waitError names why Next waited when its context ended.
func (s *Sequencer) waitError(err error, at Tick, out outcome) error {
	switch {
	case out == aheadTime && at-s.clock.Now() > trail:
		return fmt.Errorf("sequencer %q: %w: the grid's time is before this handle's last ID and has to come to it: %w",
			s.Name(), ErrUnavailable, err)
	case out == noGrant:
		return fmt.Errorf("sequencer %q: %w (the grid did not renew it in time; is it reachable?): %w",
			s.Name(), ErrGrantExpired, err)
	case out == aheadTime:
		return fmt.Errorf("sequencer %q: this logical node's IDs of the millisecond are used up: %w", s.Name(), err)
	}
	return fmt.Errorf("sequencer %q: %w", s.Name(), err)
}

// revive attaches a handle again that was detached for being idle, or says why
// it may not.
func (s *Sequencer) revive(ctx context.Context, t *tenure) error {
	if t.final != nil {
		return s.named(t.final)
	}
	if t.by != byIdle && (t.by == byCaller || s.idle.Load() == 0) {
		return s.named(ErrDetached)
	}
	var full error // why the last try found no logical node
	for {
		err := s.attach(ctx)
		switch {
		case err == nil, errors.Is(err, ErrAttached):
			return nil
		case full != nil && ctx.Err() != nil:
			return fmt.Errorf("%w: %w", full, err)
		case !errors.Is(err, ErrNoFreeNode):
			return err
		}
		full = err
		pause := s.clock.Now() + attachPause
		if waitErr := s.clock.Wait(ctx, pause, nil); waitErr != nil {
			return fmt.Errorf("%w: %w", err, waitErr)
		}
	}
}

// exhausted says when the epoch ended.
func (s *Sequencer) exhausted() error {
	return fmt.Errorf("sequencer %q: %w: its last ID was at %s; create one with a later epoch",
		s.Name(), ErrEpochExhausted, s.ref.Definition.Exhausted().Format(time.RFC3339))
}

// named puts the sequencer's name before a sentinel.
func (s *Sequencer) named(err error) error { return fmt.Errorf("sequencer %q: %w", s.Name(), err) }
