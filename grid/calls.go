package grid

import (
	"context"
	"fmt"

	"github.com/snowgrid/snowgrid/grid/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// call is one call of the API: how its request is decoded, and who serves it.
type call struct {
	decode  func(kind string, body []byte) (any, error)
	serve   func(ctx context.Context, in any) (any, error)
	deliver func(out, result any) // stores a result where a local caller wants it
	target  bool                  // only for members that address this one
	members bool                  // ... as one of their grid
	large   bool                  // its answer is large, whatever its request is
}

// typed makes a call out of a function.
func typed[In, Out any](serve func(ctx context.Context, in In) (Out, error)) *call {
	return &call{
		decode: func(kind string, body []byte) (any, error) {
			var in In
			err := wire.Decode(kind, body, &in)
			return in, err
		},
		serve:   func(ctx context.Context, in any) (any, error) { return serve(ctx, in.(In)) },
		deliver: func(out, result any) { *out.(*Out) = result.(Out) },
	}
}

// forTarget marks a call between members that need not be in a grid yet.
func (c *call) forTarget() *call { c.target = true; return c }

// forMembers marks a call between members of a grid.
func (c *call) forMembers() *call { c.target, c.members = true, true; return c }

// withLargeAnswer marks a call of which a connection may have one at a time.
func (c *call) withLargeAnswer() *call { c.large = true; return c }

// calls returns every call of the API but the event stream, by path.
func (m *Member) calls() map[string]*call {
	return map[string]*call{
		wire.PathCreate:    typed(m.serveCreate),
		wire.PathOpen:      typed(m.serveOpen),
		wire.PathAttach:    typed(m.serveAttach),
		wire.PathRenew:     typed(m.serveRenew),
		wire.PathDetach:    typed(m.serveDetach),
		wire.PathDestroy:   typed(m.serveDestroy),
		wire.PathDirectory: typed(m.serveDirectory),
		wire.PathStatus:    typed(m.serveStatus).withLargeAnswer(),
		wire.PathIDs:       typed(m.serveIDs),
		wire.PathHello:     typed(m.serveHello).forTarget(),
		wire.PathAccept:    typed(m.serveAccept).forTarget(),
		wire.PathJoin:      typed(m.serveJoin).forMembers(),
		wire.PathLeave:     typed(m.serveLeave).forMembers(),
		wire.PathEarlier:   typed(m.serveEarlier).forMembers(),
		wire.PathReplicate: typed(m.serveReplicate).forMembers(),
		wire.PathHeld:      typed(m.serveHeld).forMembers(),
		wire.PathInit:      typed(m.serveInit).forTarget(),
		wire.PathAbandon:   typed(m.serveAbandon).forTarget(),
	}
}

func (m *Member) serveCreate(ctx context.Context, in wire.CreateRequest) (wire.SequencerResponse, error) {
	if _, err := (wire.Sequencer{Name: in.Name, Epoch: in.Epoch, Nodes: in.Nodes}).Ref(); err != nil {
		return wire.SequencerResponse{}, err
	}
	return askOwner(ctx, m, in.Name, func(o *actor) (wire.SequencerResponse, error) { return o.create(in) })
}

func (m *Member) serveOpen(ctx context.Context, in wire.OpenRequest) (wire.SequencerResponse, error) {
	if err := checkName(in.Name); err != nil {
		return wire.SequencerResponse{}, err
	}
	return askOwner(ctx, m, in.Name, func(o *actor) (wire.SequencerResponse, error) { return o.open(in) })
}

func (m *Member) serveAttach(ctx context.Context, in wire.AttachRequest) (wire.AttachResponse, error) {
	if _, err := in.Claim.Sequencer.Ref(); err != nil {
		return wire.AttachResponse{}, err
	}
	return askOwner(ctx, m, in.Claim.Sequencer.Name, func(o *actor) (wire.AttachResponse, error) { return o.attach(in) })
}

func (m *Member) serveDetach(ctx context.Context, in wire.DetachRequest) (wire.Done, error) {
	if _, err := in.Sequencer.Ref(); err != nil {
		return wire.Done{}, err
	}
	return askOwner(ctx, m, in.Sequencer.Name, func(o *actor) (wire.Done, error) { return o.detach(in) })
}

// serveDestroy waits for the holders' answers outside the owner, which goes on
// serving other requests meanwhile.
func (m *Member) serveDestroy(ctx context.Context, in wire.DestroyRequest) (wire.Done, error) {
	if err := checkName(in.Name); err != nil {
		return wire.Done{}, err
	}
	outcome := make(chan error, 1)
	_, err := askOwner(ctx, m, in.Name, func(o *actor) (struct{}, error) {
		o.destroy(in, outcome)
		return struct{}{}, nil
	})
	if err != nil {
		return wire.Done{}, err
	}
	select {
	case err := <-outcome:
		return wire.Done{Stamp: m.stamp()}, err
	case <-ctx.Done():
		return wire.Done{}, fmt.Errorf("%w: the destroy is still under way: %w", sequencer.ErrUnavailable, ctx.Err())
	case <-m.ctx.Done():
		return wire.Done{}, errClosed
	}
}

func (m *Member) serveDirectory(context.Context, wire.DirectoryRequest) (wire.DirectoryResponse, error) {
	r := m.roster.Load()
	out := wire.DirectoryResponse{Stamp: m.stamp(), Window: r.Settings.Window, Owners: make([]int, len(r.Partitions))}
	index := map[partition.Incarnation]int{}
	for i, member := range r.Members {
		index[member.Incarnation] = i
		out.Members = append(out.Members, wire.Address{Incarnation: member.Incarnation, API: member.API})
	}
	for p, state := range r.Partitions {
		i, owned := index[state.Owner]
		if !owned {
			i = -1
		}
		out.Owners[p] = i
	}
	return out, nil
}

// stamp is what this member's answers carry that come from no owner.
func (m *Member) stamp() wire.Stamp {
	r := m.roster.Load()
	return wire.Stamp{Grid: r.Grid, Version: r.Version, Time: m.clock.Now()}
}

// checkName refuses what no sequencer can be called.
func checkName(name string) error {
	_, err := sequencer.Define(name, sequencer.Config{})
	return err
}
