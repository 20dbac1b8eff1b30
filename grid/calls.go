package grid

import (
	"context"
	"crypto/rand"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/sequencer"
	"github.com/snowgrid/snowgrid/wire"
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
			err := wire.DecodeRequest(kind, body, &in)
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
		wire.PathIDs:       typed(m.serveCountedIDs),
		wire.PathHello:     typed(m.serveHello).forTarget(),
		wire.PathAccept:    typed(m.serveAccept).forTarget(),
		wire.PathJoin:      typed(m.serveJoin).forMembers(),
		wire.PathLeave:     typed(m.serveLeave).forMembers(),
		wire.PathEarlier:   typed(m.serveEarlier).forMembers(),
		wire.PathReplicate: typed(m.serveReplicate).forMembers(),
		wire.PathHeld:      typed(m.serveHeld).forMembers(),
		wire.PathStored:    typed(m.serveStored).forMembers(),
		wire.PathCollect:   typed(m.serveCollect).forMembers().withLargeAnswer(),
		wire.PathForget:    typed(m.serveForget).forTarget(),
		wire.PathInit:      typed(m.serveInit).forTarget(),
		wire.PathAbandon:   typed(m.serveAbandon).forTarget(),
	}
}

func (m *Member) serveCreate(ctx context.Context, in wire.CreateRequest) (wire.SequencerResponse, error) {
	def, err := sequencer.Define(in.Name, in.Config())
	if err != nil {
		return wire.SequencerResponse{}, err
	}
	ref := sequencer.Ref{Definition: def}
	_, _ = rand.Read(ref.Life[:])
	return askForLife(ctx, m, in.Name, func(o *partition.Machine, v partition.View, reply func(sequencer.Ref, error)) {
		o.Create(v, ref, reply)
	})
}

func (m *Member) serveOpen(ctx context.Context, in wire.OpenRequest) (wire.SequencerResponse, error) {
	if err := checkName(in.Name); err != nil {
		return wire.SequencerResponse{}, err
	}
	return askForLife(ctx, m, in.Name, func(o *partition.Machine, v partition.View, reply func(sequencer.Ref, error)) {
		o.Open(v, in.Name, reply)
	})
}

// askForLife asks the owner of a name something that is answered with a life.
func askForLife(ctx context.Context, m *Member, name string, request func(o *partition.Machine, v partition.View, reply func(sequencer.Ref, error))) (wire.SequencerResponse, error) {
	ref, stamp, err := askOwner(ctx, m, name, request)
	if err != nil {
		return wire.SequencerResponse{}, err
	}
	return wire.SequencerResponse{Stamp: stamp, Sequencer: wire.SequencerOf(ref)}, nil
}

func (m *Member) serveAttach(ctx context.Context, in wire.AttachRequest) (wire.AttachResponse, error) {
	claim, err := claimOf(in.Claim)
	if err == nil {
		err = checkAttachment(in.Holder, in.Claim)
	}
	if err != nil {
		return wire.AttachResponse{}, err
	}
	a, stamp, err := askOwner(ctx, m, in.Claim.Sequencer.Name, func(o *partition.Machine, v partition.View, reply func(sequencer.Attachment, error)) {
		o.Attach(v, in.Holder, claim, reply)
	})
	if err != nil {
		return wire.AttachResponse{}, err
	}
	return wire.AttachResponse{Stamp: stamp, Node: a.Node, Grant: a.Grant}, nil
}

// checkAttachment refuses a request that names no attachment.
func checkAttachment(h sequencer.HolderID, c wire.Claim) error {
	if err := wire.CheckHolder(h); err != nil {
		return err
	}
	if c.ID.IsZero() {
		return failure.Errorf(wire.ErrBadRequest, "grid: the attachment ID is zero; give 128 random bits, new for each attach")
	}
	return nil
}

// claimOf is a claim as the owner takes it.
func claimOf(in wire.Claim) (partition.Claim, error) {
	ref, err := in.Sequencer.Ref()
	c := partition.Claim{Ref: ref, ID: in.ID, Grid: in.Grid, Version: in.Version, Until: in.Until}
	if in.Node == nil {
		c.Any = true
	} else {
		c.Node = *in.Node
	}
	return c, err
}

func (m *Member) serveDetach(ctx context.Context, in wire.DetachRequest) (wire.Done, error) {
	ref, err := in.Sequencer.Ref()
	if err == nil {
		err = wire.CheckHolder(in.Holder)
	}
	if err != nil {
		return wire.Done{}, err
	}
	rel := sequencer.Release{ID: in.ID, Node: in.Node, LastUsed: in.LastUsed}
	_, stamp, err := askOwner(ctx, m, in.Sequencer.Name, func(o *partition.Machine, v partition.View, reply func(struct{}, error)) {
		o.Detach(v, in.Holder, ref, rel, nothing(reply))
	})
	return wire.Done{Stamp: stamp}, err
}

func (m *Member) serveDestroy(ctx context.Context, in wire.DestroyRequest) (wire.Done, error) {
	if err := checkName(in.Name); err != nil {
		return wire.Done{}, err
	}
	_, _, err := askOwner(ctx, m, in.Name, func(o *partition.Machine, v partition.View, reply func(struct{}, error)) {
		o.Destroy(v, in.Name, in.Life, nothing(reply))
	})
	return wire.Done{Stamp: m.stamp()}, err
}

// nothing makes a reply without a value.
func nothing(reply func(struct{}, error)) func(error) {
	return func(err error) { reply(struct{}{}, err) }
}

func (m *Member) serveDirectory(context.Context, wire.DirectoryRequest) (wire.DirectoryResponse, error) {
	r := m.state.Roster()
	out := wire.DirectoryResponse{Stamp: m.stamp(), Window: r.Settings.Window, Owners: make([]int, len(r.Partitions))}
	index := map[roster.Incarnation]int{}
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
	r := m.state.Roster()
	return wire.Stamp{Grid: r.Grid, Version: r.Version, Time: m.clock.Now()}
}

// checkName refuses what no sequencer can be called.
func checkName(name string) error {
	_, err := sequencer.Define(name, sequencer.Config{})
	return err
}
