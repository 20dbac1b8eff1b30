package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// actorOf returns the actor of a partition, started at the first call.
func (h *Host) actorOf(id roster.PartitionID) (*actor, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life.Closed() {
		return nil, refusal.ErrClosed
	}
	if !h.raft.TakesPart() {
		return nil, failure.Errorf(sequencer.ErrUnavailable, "grid: this member is in no grid")
	}
	o := h.actors[id]
	if o == nil {
		o = newActor(h, id)
		h.actors[id] = o
		h.life.Background(o.run)
	}
	return o, nil
}

// ownerOf returns the actor for a name's partition if this member owns it in its newest roster.
func (h *Host) ownerOf(name string) (*actor, error) {
	r := h.state.Roster()
	if len(r.Partitions) == 0 {
		return nil, failure.Errorf(sequencer.ErrUnavailable, "grid: the grid is not formed yet")
	}
	id := roster.PartitionOf(name, len(r.Partitions))
	if r.Partitions[id].Owner != h.self {
		return nil, roster.ErrWrongOwner
	}
	return h.actorOf(id)
}

func (h *Host) running() []*actor {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]*actor, 0, len(h.actors))
	for id := range h.state.Roster().Partitions {
		if o := h.actors[roster.PartitionID(id)]; o != nil {
			out = append(out, o)
		}
	}
	return out
}

// attend wakes the actors whose roster entry has changed, until ctx ends: a named owner
// starts its term immediately, and joining replicas are sent their table.
func (h *Host) attend(ctx context.Context) {
	known := h.state.Roster()
	for ctx.Err() == nil {
		changed := h.state.Changed()
		h.cfg.Changed()
		if r := h.state.Roster(); r.Version != known.Version || r.Grid != known.Grid {
			for id, p := range r.Partitions {
				h.wake(roster.PartitionID(id), p)
			}
			known = r
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// wake wakes a partition's actor, starting it if this member has a part in the partition:
// who is in sync from a loss on has to have seen the loss.
func (h *Host) wake(id roster.PartitionID, p roster.Partition) {
	h.mu.Lock()
	o := h.actors[id]
	h.mu.Unlock()
	if o == nil && p.Keeps(h.self) {
		o, _ = h.actorOf(id) // fails only when the member is closed
	}
	if o != nil {
		select {
		case o.nudge <- struct{}{}:
		default:
		}
	}
}

type answer[T any] struct {
	value T
	stamp wire.Stamp
	err   error
}

// look runs a read on an actor's machine and waits for the result.
func look[T any](ctx context.Context, o *actor, at func(v partition.View) (T, error)) (T, error) {
	a := await(ctx, o, func(v partition.View, reply func(T, error)) {
		value, err := at(v)
		o.machine.Observe(v)
		reply(value, err)
	})
	return a.value, a.err
}

// askOwner has the owner of a name serve a request and waits for the answer.
func askOwner[T any](ctx context.Context, h *Host, name string, request func(o *partition.Machine, v partition.View,
	reply func(T, error))) (T, wire.Stamp, error) {
	o, err := h.ownerOf(name)
	if err != nil {
		var none T
		return none, wire.Stamp{}, err
	}
	a := await(ctx, o, func(v partition.View, reply func(T, error)) { request(o.machine, v, reply) })
	return a.value, a.stamp, a.err
}

// startAtOwner is askOwner for callers that must not wait: done is called once (see start). After an error it has a
// goroutine of its own, since errors are written to logs.
func startAtOwner[T any](ctx context.Context, h *Host, name string, request func(o *partition.Machine, v partition.View,
	reply func(T, error)), done func(T, wire.Stamp, error)) {
	o, err := h.ownerOf(name)
	if err != nil {
		var none T
		done(none, wire.Stamp{}, err)
		return
	}
	start(ctx, o, func(v partition.View, reply func(T, error)) { request(o.machine, v, reply) },
		func(value T, s wire.Stamp, err error) {
			if err == nil || !h.life.Go(func() { done(value, s, err) }) {
				done(value, s, err)
			}
		})
}

// await passes a request to an actor and waits for its reply.
func await[T any](ctx context.Context, o *actor, request func(v partition.View, reply func(T, error))) answer[T] {
	answers := make(chan answer[T], 1)
	stop := start(ctx, o, request, func(value T, s wire.Stamp, err error) { answers <- answer[T]{value, s, err} })
	defer stop()
	return <-answers
}

// explain adds to an answer that a request was not possible, or that this member has ended, that its disk has
// failed, if so.
func (o *actor) explain(err error) error {
	if o.host.raft == nil || !errors.Is(err, sequencer.ErrUnavailable) && !errors.Is(err, partition.ErrEnded) {
		return err
	}
	if failed := o.host.raft.DiskFailure(); failed != nil {
		return fmt.Errorf("%w: %w", err, failed)
	}
	return err
}

// refuses returns the reason not to begin a request: its caller has given up, or it arrived while the
// member was in another grid.
func (o *actor) refuses(ctx context.Context) error {
	if o.tenure.Elsewhere(ctx) {
		return wire.ErrNotAddressed
	}
	return ctx.Err()
}

// gone is the answer of an actor that has ended.
func (o *actor) gone() error {
	if o.host.ctx.Err() != nil {
		return refusal.ErrClosed
	}
	return failure.Errorf(sequencer.ErrUnavailable, "grid: this member has left its grid for another")
}
