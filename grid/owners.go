package grid

import (
	"context"
	"fmt"

	"github.com/snowgrid/snowgrid/grid/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// ownerOf returns the running owner of a name's partition if this member owns it
// by the newest roster it knows, and starts it at the first call.
func (m *Member) ownerOf(name string) (*owner, error) {
	r := m.roster.Load()
	if len(r.Partitions) == 0 {
		return nil, fmt.Errorf("%w: the grid is not formed yet", sequencer.ErrUnavailable)
	}
	id := partition.Of(name, len(r.Partitions))
	if r.Partitions[id].Owner != m.self {
		return nil, wire.ErrWrongOwner
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, errClosed
	}
	o := m.owners[id]
	if o == nil {
		o = newOwner(m, id)
		m.owners[id] = o
		m.done.Go(func() { o.run(m.ctx) })
	}
	return o, nil
}

// running returns the owners that were started, by ascending partition.
func (m *Member) running() []*owner {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]*owner, 0, len(m.owners))
	for id := range m.roster.Load().Partitions {
		if o := m.owners[partition.ID(id)]; o != nil {
			out = append(out, o)
		}
	}
	return out
}

// ask has an owner serve a request and waits for the answer. A request whose
// caller has gone is not begun.
func ask[T any](ctx context.Context, o *owner, serve func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	answers := make(chan answer, 1)
	request := func() {
		if err := ctx.Err(); err != nil {
			answers <- answer{err: err}
			return
		}
		value, err := serve()
		answers <- answer{value, err}
	}
	select {
	case o.inbox <- request:
	case <-ctx.Done():
		return none, fmt.Errorf("%w: partition %d is busy: %w", sequencer.ErrUnavailable, o.id, ctx.Err())
	case <-o.m.ctx.Done():
		return none, errClosed
	}
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		return none, fmt.Errorf("%w: partition %d did not answer: %w", sequencer.ErrUnavailable, o.id, ctx.Err())
	case <-o.m.ctx.Done():
		return none, errClosed
	}
}

// askOwner is ask at the owner of a name.
func askOwner[T any](ctx context.Context, m *Member, name string, serve func(o *owner) (T, error)) (T, error) {
	o, err := m.ownerOf(name)
	if err != nil {
		var none T
		return none, err
	}
	return ask(ctx, o, func() (T, error) { return serve(o) })
}
