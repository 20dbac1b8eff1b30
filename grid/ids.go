package grid

import (
	"context"
	"errors"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
	"github.com/snowgrid/snowgrid/wire"
)

// idsIdle is how long the member keeps a handle and its logical node for POST /v1/ids
// after the last request for its name.
const idsIdle = time.Minute

// serveIDs makes IDs for callers of any language. The member holds a logical
// node for them, apart from those of its own handles.
func (m *Member) serveIDs(ctx context.Context, in wire.IDsRequest) (wire.IDsResponse, error) {
	if err := checkName(in.Name); err != nil {
		return wire.IDsResponse{}, err
	}
	n := in.N
	if n == 0 {
		n = 1
	}
	if n < 1 || n > wire.MaxIDs {
		return wire.IDsResponse{}, failure.Errorf(wire.ErrBadRequest, "grid: n is %d; request 1 to %d IDs", in.N, wire.MaxIDs)
	}
	s, err := m.idsSequencer(ctx, in)
	if err != nil {
		return wire.IDsResponse{}, err
	}
	ids := make([]sequencer.ID, n)
	if n, err = s.Fill(ctx, ids); n == 0 && (errors.Is(err, sequencer.ErrDestroyed) || errors.Is(err, sequencer.ErrClosed)) {
		// Its name may live again, or its handle was ended for being idle.
		if s, err = m.idsSequencer(ctx, in); err == nil {
			_, err = s.Fill(ctx, ids)
		}
	}
	if err != nil {
		return wire.IDsResponse{}, err
	}
	return wire.IDsResponse{IDs: ids}, nil
}

// idsSequencer returns the handle that serves a name, of a sequencer that is created
// if the request says so.
func (m *Member) idsSequencer(ctx context.Context, in wire.IDsRequest) (*sequencer.Sequencer, error) {
	c, err := m.startIDs(ctx)
	if err != nil {
		return nil, err
	}
	var s *sequencer.Sequencer
	if in.Create == nil {
		s, err = c.OpenSequencer(ctx, in.Name)
	} else {
		create := wire.CreateRequest{Name: in.Name, Epoch: in.Create.Epoch, Nodes: in.Create.Nodes}
		s, err = c.CreateSequencer(ctx, in.Name, create.Config())
	}
	if err != nil {
		return nil, err
	}
	s.DetachWhenIdle(idsIdle)
	return s, nil
}

// startIDs returns the client whose handles serve POST /v1/ids, made at the
// first request.
func (m *Member) startIDs(ctx context.Context) (*client.Client, error) {
	if c := m.idsClient(); c != nil {
		return c, nil
	}
	c, err := m.newClient(ctx)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	spare := c
	switch {
	case m.life.Closed():
		err = refusal.ErrClosed
	case m.ids != nil:
		c = m.ids
	default:
		m.ids, spare = c, nil
		m.life.Go(func() { m.endIdleIDs(m.ctx, c) })
	}
	m.mu.Unlock()
	if spare != nil {
		_ = spare.Close()
	}
	return c, err
}

func (m *Member) idsClient() *client.Client {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ids
}
