//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/snowgrid/snowgrid/proof/chaos/history"
	"github.com/snowgrid/snowgrid/sequencer"
)

// loader takes IDs of one sequencer all the time.
type loader struct {
	*holder
	name  string
	batch int
	every time.Duration
	rng   *rand.Rand
	on    *handle
}

// work takes batches until ctx ends. One time in detachOdds it gives the logical
// node back first and takes one again.
func (l *loader) work(ctx context.Context) {
	const detachOdds = 200
	rest := time.NewTicker(l.every)
	defer rest.Stop()
	ids := make([]sequencer.ID, l.batch)
	for ctx.Err() == nil {
		if l.ready(ctx) {
			_, _ = l.fill(ctx, history.Fill, l.on, ids[:l.batch-l.rng.IntN(l.batch/2)])
			if l.rng.IntN(detachOdds) == 0 {
				l.ask(ctx, history.Detach, l.on)
			}
		}
		select {
		case <-rest.C:
		case <-ctx.Done():
		}
	}
}

// ready makes sure of a handle that is attached.
func (l *loader) ready(ctx context.Context) bool {
	switch {
	case l.on == nil || l.on.State() == sequencer.Destroyed:
		l.on = l.create(ctx, l.name)
		return l.on != nil && l.on.State() == sequencer.Attached
	case l.on.State() == sequencer.Detached:
		return l.ask(ctx, history.Attach, l.on) == history.OK
	}
	return true
}

// final takes a batch with all the patience there is.
func (l *loader) final(ctx context.Context) error {
	for !l.ready(ctx) {
		if ctx.Err() != nil {
			return errors.New("no logical node after the last fault")
		}
	}
	n, err := l.fill(ctx, history.Final, l.on, make([]sequencer.ID, l.batch))
	if err != nil {
		return fmt.Errorf("%d of %d IDs after the last fault: %w", n, l.batch, err)
	}
	return nil
}

// sharer does everything that can be done to names that others use at the same
// time. A name is used for a while and never again, so that its history stays
// short enough to be searched.
type sharer struct {
	*holder
	prefix string
	life   time.Duration
	rng    *rand.Rand
	on     *handle
}

func (s *sharer) work(ctx context.Context) {
	for ctx.Err() == nil {
		name := fmt.Sprintf("%s-%d", s.prefix, history.Now()/s.life)
		if s.on != nil && s.on.Name() != name {
			if s.on.State() == sequencer.Attached {
				s.ask(ctx, history.Detach, s.on)
			}
			s.on = nil
		}
		s.step(ctx, name)
		select {
		case <-time.After(time.Duration(50+s.rng.IntN(500)) * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// step does one thing. A name is asked for only where the process has no handle
// that lives: one that it has is returned without a question to the grid.
func (s *sharer) step(ctx context.Context, name string) {
	dice := s.rng.IntN(100)
	switch {
	case s.on == nil || s.on.State() == sequencer.Destroyed:
		if dice < 70 {
			s.on = s.create(ctx, name)
		} else {
			s.on = s.open(ctx, name)
		}
	case dice < 8:
		s.ask(ctx, history.Destroy, s.on)
	case s.on.State() == sequencer.Detached:
		s.ask(ctx, history.Attach, s.on)
	case dice < 60:
		s.ask(ctx, history.Detach, s.on)
	default:
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, _ = s.fill(short, history.Fill, s.on, make([]sequencer.ID, 16))
	}
}
