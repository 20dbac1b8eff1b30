package api

import (
	"sync"
	"sync/atomic"

	"github.com/snowgrid/snowgrid/grid/internal/tenure"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/signal"

	"context"
	"errors"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// idsIdle is the time that the member keeps a handle and its logical node for POST /v1/ids after the
// last request.
const idsIdle = time.Minute

// errEnds is the reply to POST /v1/ids of a member that leaves or was closed.
var errEnds = failure.Errorf(sequencer.ErrClosed, "grid: this member leaves or has stopped; use another member")

// IDs generates IDs for callers in any language. It holds logical nodes for them, separate from the
// member's own handles.
type IDs struct {
	dial   func(context.Context) (*client.Client, error)   // to this member
	create func(context.Context, wire.CreateRequest) error // as the caller of the context
	life   *tenure.Life
	mono   func() time.Duration
	names  handles.Names
	leaves atomic.Bool

	mu     sync.Mutex     // guards client; never held while waiting
	client *client.Client // made at the first request
}

// NewIDs returns a service with handles on the clients that dial makes. create creates a sequencer as
// the caller in its context: the handles are the member's own, which may create anything at any rate.
func NewIDs(dial func(context.Context) (*client.Client, error), create func(context.Context, wire.CreateRequest) error,
	life *tenure.Life, mono func() time.Duration) *IDs {
	return &IDs{dial: dial, create: create, life: life, mono: mono}
}

// Call returns the call for POST /v1/ids.
func (i *IDs) Call() *Call { return Typed(wire.PathIDs, i.serve) }

func (i *IDs) make(ctx context.Context, in wire.IDsRequest) (wire.IDsResponse, error) {
	n, err := in.Count()
	if err != nil {
		return wire.IDsResponse{}, err
	}
	s, err := i.open(ctx, in, i.names.IsOpen(in.Name))
	if err != nil {
		return wire.IDsResponse{}, err
	}
	ids := make([]sequencer.ID, n)
	if n, err = s.Fill(ctx, ids); n == 0 && (errors.Is(err, sequencer.ErrDestroyed) ||
		errors.Is(err, sequencer.ErrClosed)) {
		// Its name may live again, or its handle was ended for being idle.
		if s, err = i.open(ctx, in, false); err == nil {
			_, err = s.Fill(ctx, ids)
		}
	}
	if err != nil {
		return wire.IDsResponse{}, err
	}
	return wire.IDsResponse{IDs: ids}, nil
}

// open returns the handle for a name, and creates the sequencer if the request allows it. known means
// that the name has a handle.
func (i *IDs) open(ctx context.Context, in wire.IDsRequest, known bool) (*sequencer.Sequencer, error) {
	c, err := i.start(ctx)
	if err != nil {
		return nil, err
	}
	var s *sequencer.Sequencer
	if in.Create == nil {
		s, err = c.OpenSequencer(ctx, in.Name)
	} else {
		create := wire.CreateRequest{Name: in.Name, Epoch: in.Create.Epoch, Nodes: in.Create.Nodes, Layout: in.Create.Layout,
			NodeRange: in.Create.NodeRange}
		if !known {
			if err := i.create(ctx, create); err != nil {
				return nil, err
			}
		}
		s, err = c.CreateSequencer(ctx, in.Name, create.Config())
	}
	if err != nil {
		return nil, err
	}
	s.DetachWhenIdle(idsIdle)
	return s, nil
}

// start returns the client for POST /v1/ids, made on the first request.
func (i *IDs) start(ctx context.Context) (*client.Client, error) {
	if c := i.current(); c != nil {
		return c, nil
	}
	c, err := i.dial(ctx)
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	spare := c
	switch {
	case i.life.Closed():
		err = errEnds
	case i.client != nil:
		c = i.client
	default:
		i.client, spare = c, nil
		i.life.Go(func() { i.endIdle(i.life.Context(), c) })
	}
	i.mu.Unlock()
	if spare != nil {
		_ = spare.Close()
	}
	return c, err
}

func (i *IDs) current() *client.Client {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.client
}

// Leave gives the logical nodes back. Calls are refused from then on.
func (i *IDs) Leave(ctx context.Context) error {
	i.leaves.Store(true)
	if c := i.current(); c != nil {
		return c.Leave(ctx)
	}
	return nil
}

// Close ends every handle.
func (i *IDs) Close() {
	if c := i.current(); c != nil {
		_ = c.Close()
	}
}

// serve makes IDs and counts the handle that it uses.
func (i *IDs) serve(ctx context.Context, in wire.IDsRequest) (wire.IDsResponse, error) {
	if err := CheckName(in.Name); err != nil {
		return wire.IDsResponse{}, err
	}
	if i.ends() {
		return wire.IDsResponse{}, errEnds
	}
	i.names.Enter(in.Name)
	out, err := i.make(ctx, in)
	if i.ends() && (errors.Is(err, sequencer.ErrDetached) || errors.Is(err, sequencer.ErrClosed)) {
		err = errEnds // the caller has no handle
	}
	found := !errors.Is(err, sequencer.ErrNotFound) && !errors.Is(err, sequencer.ErrInvalidConfig) &&
		!errors.Is(err, wire.ErrBadRequest)
	for _, name := range i.names.Leave(in.Name, found, i.mono()) {
		endIDs(ctx, i.current(), name)
	}
	return out, err
}

// ends reports whether the handles end with the member.
func (i *IDs) ends() bool { return i.leaves.Load() || i.life.Closed() }

func (i *IDs) endIdle(ctx context.Context, c *client.Client) {
	for ctx.Err() == nil {
		signal.Sleep(ctx, idsIdle/4)
		for _, name := range i.names.Idle(i.mono() - idsIdle) {
			endIDs(ctx, c, name)
		}
	}
}

// endIDs ends the handle that serves a name. A logical node that cannot be given back now
// is given back in the background, or taken when its session ends.
func endIDs(ctx context.Context, c *client.Client, name string) {
	if c == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, MemberTimeout)
	defer cancel()
	_ = c.Forget(ctx, name)
}
