package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Create creates a sequencer, or opens an existing one with the same name and definition, and attaches
// a logical node if requested.
func (h *Host) Create(ctx context.Context, in wire.CreateRequest) (wire.SequencerResponse, error) {
	if in.Attach != nil {
		return h.createOrPassOn(ctx, in)
	}
	return h.createHere(ctx, in)
}

// createHere is Create at the owner, without the attach.
func (h *Host) createHere(ctx context.Context, in wire.CreateRequest) (wire.SequencerResponse, error) {
	def, err := sequencer.Define(in.Name, in.Config())
	if err != nil {
		h.cfg.Audit.Write(audit.Entry{Action: audit.Create, Name: in.Name, Who: api.WhoOf(ctx), Err: err})
		return wire.SequencerResponse{}, err
	}
	ref := attachment.Ref{Definition: def}
	_, _ = rand.Read(ref.Life[:])
	res, err := h.create(ctx, ref)
	if err != nil || res.Sequencer.Life == ref.Life { // else it was there
		h.cfg.Audit.Write(audit.Entry{Action: audit.Create, Name: in.Name, Who: api.WhoOf(ctx), Err: err})
	}
	return res, err
}

// create makes the name's owner create it, if quotas leave room, or returns its current generation.
// Only a new sequencer needs a turn under the caller's pace.
func (h *Host) create(ctx context.Context, ref attachment.Ref) (wire.SequencerResponse, error) {
	peer := h.pacedPeer(ctx, ref.Definition.Name())
	if peer == "" {
		return h.createUnless(ctx, ref, nil)
	}
	if h.creates.take(peer, time.Now()) {
		res, err := h.createUnless(ctx, ref, nil)
		if err != nil || res.Sequencer.Life != ref.Life { // it was there, or is not
			h.creates.giveBack(peer, time.Now())
		}
		return res, err
	}
	res, err := h.createUnless(ctx, ref, errTurn)
	if !errors.Is(err, errTurn) {
		return res, err
	}
	if err := h.creates.wait(ctx, peer); err != nil {
		return wire.SequencerResponse{}, err
	}
	return h.createUnless(ctx, ref, nil)
}

// createUnless is create, which answers with an error, if it is not nil, in place of a new
// sequencer.
func (h *Host) createUnless(ctx context.Context, ref attachment.Ref, instead error) (wire.SequencerResponse, error) {
	name := ref.Definition.Name()
	o, err := h.ownerOf(name)
	if err != nil {
		return wire.SequencerResponse{}, err
	}
	room := h.room(ctx, name, false)
	if instead != nil && (room.full == nil || errors.Is(room.full, errCount)) {
		room.full = instead
	}
	res, err := h.createIn(ctx, o, ref, room)
	if errors.Is(err, errCount) { // it is a new one
		res, err = h.createIn(ctx, o, ref, h.room(ctx, name, true))
	}
	return res, err
}

// createIn makes an owner create a sequencer, if there is room, or returns its current generation.
func (h *Host) createIn(ctx context.Context, o *actor, ref attachment.Ref, room room) (wire.SequencerResponse, error) {
	defer room.end()
	a := await(ctx, o, func(v partition.View, reply func(attachment.Ref, error)) {
		o.machine.CreateUnless(v, ref, room.full, reply)
		o.count(v)
		room.end()
	})
	if a.err != nil {
		if room.kind != "" && errors.Is(a.err, room.full) {
			h.counts.refused.add(room.kind)
		}
		return wire.SequencerResponse{}, a.err
	}
	return wire.SequencerResponse{Stamp: a.stamp, Sequencer: wire.SequencerOf(a.value)}, nil
}

// Open returns a sequencer that exists.
func (h *Host) Open(ctx context.Context, in wire.OpenRequest) (wire.SequencerResponse, error) {
	if err := api.CheckName(in.Name); err != nil {
		return wire.SequencerResponse{}, err
	}
	ref, stamp, err := askOwner(ctx, h, in.Name,
		func(o *partition.Machine, v partition.View, reply func(attachment.Ref, error)) {
			o.Open(v, in.Name, reply)
		})
	if err != nil {
		return wire.SequencerResponse{}, err
	}
	return wire.SequencerResponse{Stamp: stamp, Sequencer: wire.SequencerOf(ref)}, nil
}

// Attach assigns a logical node to a holder, or confirms the one it has.
func (h *Host) Attach(ctx context.Context, in wire.AttachRequest) (wire.AttachResponse, error) {
	return api.Await(ctx, in, h.startAttach)
}

func (h *Host) startAttach(ctx context.Context, in wire.AttachRequest, reply func(wire.AttachResponse, error)) {
	claim, err := h.attachClaim(ctx, in)
	if err != nil {
		reply(wire.AttachResponse{}, err)
		return
	}
	began := h.clock.Mono()
	startAtOwner(ctx, h, in.Claim.Sequencer.Name,
		func(o *partition.Machine, v partition.View, reply func(attachment.Attachment, error)) {
			o.Attach(v, in.Holder, claim, reply)
		}, func(a attachment.Attachment, stamp wire.Stamp, err error) {
			reply(h.attached(ctx, in, claim, began, a, stamp, err))
		})
}

func (h *Host) attachClaim(ctx context.Context, in wire.AttachRequest) (partition.Claim, error) {
	claim, err := claimOf(ctx, in.Claim)
	if err == nil {
		err = h.checkAttach(in)
	}
	if err != nil {
		return claim, err
	}
	if in.Previous != nil {
		claim.Previous = *in.Previous
	}
	if h.cfg.Alone && claim.Any { // two lone members that are not to run side by side do not both use node 0
		first := claim.Ref.Definition.Config().NodeRange.Lo
		claim.Preference = attachment.Preference{Node: first + sequencer.NodeID(mathrand.IntN(claim.Ref.Nodes()))}
	}
	h.setQuota(ctx, &claim)
	return claim, nil
}

// attached returns the answer to a request to attach that was served from began on.
func (h *Host) attached(ctx context.Context, in wire.AttachRequest, claim partition.Claim, began time.Duration,
	a attachment.Attachment, stamp wire.Stamp, err error) (wire.AttachResponse, error) {
	if quota, refused := errors.AsType[*partition.QuotaError](err); refused {
		h.refusedByQuota(ctx, Refusal(quota.Kind), security.Attach, in.Claim.Sequencer.Name, err)
	}
	h.noteEarlier(ctx, claim, err)
	if err != nil {
		return wire.AttachResponse{}, err
	}
	h.counts.attaches.Observe(h.clock.Mono() - began)
	h.noteHolder(ctx, in.Holder, in.About)
	return wire.AttachResponse{Stamp: stamp, Node: a.Node, Grant: a.Grant}, nil
}

// noteEarlier writes a refused claim from an earlier life of the grid to the audit log: such claims
// can raise floors in the whole grid.
func (h *Host) noteEarlier(ctx context.Context, c partition.Claim, err error) {
	if err == nil || c.Grid.IsZero() || c.Grid == h.state.Roster().Identity() {
		return
	}
	h.cfg.Audit.Write(audit.Entry{Action: string(security.Attach), Name: c.Ref.Definition.Name(), Who: api.WhoOf(ctx),
		Err: err},
		slog.String("claimed_grid", c.Grid.String()), slog.Int64("claimed_until_ms", int64(c.Until)))
}

// checkAttach refuses a request to attach that no table can serve, whatever it is about.
func (d *deps) checkAttach(in wire.AttachRequest) error {
	if err := wire.CheckHolder(in.Holder); err != nil {
		return err
	}
	if in.Claim.ID.IsZero() {
		return failure.Errorf(wire.ErrBadRequest,
			"grid: the attachment ID is zero; give 128 random bits, new for each attach")
	}
	if err := in.About.Check(); err != nil {
		return err
	}
	return d.checkIdentity(in.Identity)
}

// checkIdentity refuses a request from a process if its number belongs to another process or is no
// longer registered, before it reaches a partition. id is nil for a process without a number. With a
// roster older than the registration, a replaced process continues for that long; that is safe, since
// its grants and its successor's do not overlap.
func (d *deps) checkIdentity(id *wire.Identity) error {
	if id == nil {
		return nil
	}
	err := d.state.Roster().CheckIdentity(id.Cluster, id.Set, id.ID, id.Incarnation)
	switch {
	case errors.Is(err, numbers.ErrUnknownSet): // here, perhaps because this roster is older
		return failure.Errorf(sequencer.ErrUnavailable, "grid: %s", err.Error())
	case errors.Is(err, numbers.ErrInvalid):
		return failure.Errorf(wire.ErrBadRequest, "grid: %s", err.Error())
	}
	return err
}

// claimOf is a claim as the owner takes it.
func claimOf(ctx context.Context, in wire.Claim) (partition.Claim, error) {
	ref, err := in.Sequencer.Ref()
	c := partition.Claim{Ref: ref, ID: in.ID, Grid: in.Grid, Version: in.Version, Until: in.Until, Limit: limitOf(ctx)}
	if in.Node == nil {
		c.Any = true
	} else {
		c.Node = *in.Node
	}
	return c, err
}

// Detach takes a logical node back.
func (h *Host) Detach(ctx context.Context, in wire.DetachRequest) (wire.Done, error) {
	return api.Await(ctx, in, h.startDetach)
}

func (h *Host) startDetach(ctx context.Context, in wire.DetachRequest, reply func(wire.Done, error)) {
	h.startDetachFrom(ctx, in, in.Holder, reply)
}

// startDetachFrom is startDetach of a holder that keeps its handle, or of none, "".
func (h *Host) startDetachFrom(ctx context.Context, in wire.DetachRequest, holder attachment.HolderID,
	reply func(wire.Done, error)) {
	ref, err := in.Sequencer.Ref()
	if err == nil {
		err = wire.CheckHolder(in.Holder)
	}
	if err != nil {
		reply(wire.Done{}, err)
		return
	}
	exists := false // in the owner's table, so that callers cannot invent names
	startAtOwner(ctx, h, in.Sequencer.Name,
		func(o *partition.Machine, v partition.View, reply func(struct{}, error)) {
			_, unknown := o.Table().Open(in.Sequencer.Name)
			exists = unknown == nil
			rel := attachment.Release{ID: in.ID, Node: in.Node, LastUsed: in.LastUsed}
			o.Detach(v, holder, ref, rel, nothing(reply))
		}, func(_ struct{}, stamp wire.Stamp, err error) {
			if err == nil && exists {
				h.usage.add(h.clock.Mono(), wire.Used{Name: in.Sequencer.Name, IDs: in.IDs, Waits: in.Waits})
			}
			reply(wire.Done{Stamp: stamp}, err)
		})
}

// Destroy ends a name's life, or relays the request to the owner, which does not relay: see createOrPassOn.
func (h *Host) Destroy(ctx context.Context, in wire.DestroyRequest) (wire.Done, error) {
	if err := api.CheckName(in.Name); err != nil {
		h.cfg.Audit.Write(audit.Entry{Action: audit.Destroy, Name: in.Name, Who: api.WhoOf(ctx), Err: err})
		return wire.Done{}, err
	}
	if !in.Forwarded {
		return h.destroyAtOwner(ctx, in)
	}
	if in.Caller != nil {
		if err := in.Caller.Check(); err != nil {
			return wire.Done{}, err
		}
		ctx = api.OnBehalf(ctx, *in.Caller)
	}
	if err := api.Authorize(ctx, h.cfg.Audit, security.Destroy, in.Name); err != nil {
		return wire.Done{}, err
	}
	return h.destroyHere(ctx, in)
}

// ownerWait bounds the tries of a destroy to find the owner, which may learn of its role after this member.
const ownerWait = 3 * time.Second

// destroyAtOwner destroys at the owner, here or at another member. While members disagree about the owner it tries
// again: a caller that knows one address has no use for the answer that another member is the owner.
func (h *Host) destroyAtOwner(ctx context.Context, in wire.DestroyRequest) (wire.Done, error) {
	forwarded := in
	forwarded.Relay = wire.Relay{Forwarded: true, Caller: api.CallerOf(ctx)}
	for end := time.Now().Add(ownerWait); ; {
		changed := h.state.Changed()
		out, err := atOwner(ctx, h, in.Name, wire.PathDestroy, forwarded,
			func() (wire.Done, error) { return h.destroyHere(ctx, in) })
		if !errors.Is(err, roster.ErrWrongOwner) {
			return out, err
		}
		if ctx.Err() != nil || time.Now().After(end) {
			return out, &wire.LaterError{Of: sequencer.ErrUnavailable, After: time.Second, Message: fmt.Sprintf(
				"grid: sequencer %q: its owner changes; try again", in.Name)}
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-time.After(createAgain):
		}
	}
}

func (h *Host) destroyHere(ctx context.Context, in wire.DestroyRequest) (wire.Done, error) {
	_, _, err := askOwner(ctx, h, in.Name, func(o *partition.Machine, v partition.View, reply func(struct{}, error)) {
		o.Destroy(v, in.Name, in.Life, nothing(reply))
	})
	h.cfg.Audit.Write(audit.Entry{Action: audit.Destroy, Name: in.Name, Who: api.WhoOf(ctx), Err: err})
	return wire.Done{Stamp: h.stamp()}, err
}

func nothing(reply func(struct{}, error)) func(error) {
	return func(err error) { reply(struct{}{}, err) }
}

// stamp returns the stamp of this member's answers that come from no owner.
func (d *deps) stamp() wire.Stamp {
	r := d.state.Roster()
	return wire.Stamp{Grid: r.Identity(), Version: r.Version, Time: d.clock.Now()}
}
