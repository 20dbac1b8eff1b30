package host

import (
	"context"
	"errors"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// createOrPassOn serves a create-and-attach request, or relays it to the owner. The owner does not
// relay: if two members take each other for the owner, the second refuses. A caller may have a later
// roster than this member, with a new owner that may be this member; so a slow relay is abandoned when
// the owner changes.
func (h *Host) createOrPassOn(ctx context.Context, in wire.CreateRequest) (wire.SequencerResponse, error) {
	if err := api.CheckName(in.Name); err != nil {
		return h.createAndAttach(ctx, in)
	}
	return atOwner(ctx, h, in.Name, wire.PathRelayCreate,
		wire.RelayCreateRequest{Caller: api.CallerOf(ctx), Create: in}, func() (wire.SequencerResponse, error) {
			return h.createAndAttach(ctx, in)
		})
}

// atOwner serves a request by here if this member owns the name, or relays it to the owner.
func atOwner[Out any](ctx context.Context, h *Host, name, path string, relayed any,
	here func() (Out, error)) (out Out, err error) {
	for {
		owner, elsewhere := h.ownerElsewhere(name)
		if !elsewhere {
			return here()
		}
		err = h.passOn(ctx, owner, name, path, relayed, &out)
		if now, _ := h.ownerElsewhere(name); err == nil || now.Incarnation == owner.Incarnation || ctx.Err() != nil {
			return out, err
		}
	}
}

// CreateFor creates a sequencer at its owner for a caller served by this member's own handle (POST
// /v1/ids), with the caller's own permissions and pace. It waits for an owner until ctx ends.
func (h *Host) CreateFor(ctx context.Context, in wire.CreateRequest) error {
	for {
		changed := h.state.Changed()
		_, err := h.createOrPassOn(ctx, in)
		_, told := errors.AsType[*wire.LaterError](err)
		if told || !errors.Is(err, sequencer.ErrUnavailable) && !errors.Is(err, roster.ErrWrongOwner) &&
			!errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-changed:
		case <-time.After(createAgain):
		}
	}
}

const createAgain = 50 * time.Millisecond

func (d *deps) ownerElsewhere(name string) (owner roster.Member, elsewhere bool) {
	r := d.state.Roster()
	if len(r.Partitions) == 0 {
		return owner, false
	}
	owner, found := r.Member(r.Partitions[roster.PartitionOf(name, len(r.Partitions))].Owner)
	return owner, found && owner.Incarnation != d.self
}

// slowOwner is the delay after which a relayed request looks for another owner and has the current one
// probed.
const slowOwner = 150 * time.Millisecond

// passOn has the owner of a name serve a relayed request, as long as it is the owner.
func (h *Host) passOn(ctx context.Context, owner roster.Member, name, path string, relayed, out any) error {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	slow := time.AfterFunc(slowOwner, func() {
		if h.cfg.Awaited != nil {
			id := roster.PartitionOf(name, len(h.state.Roster().Partitions))
			h.cfg.Awaited(wire.DirectoryRequest{Partition: int(id), NotAt: owner.API, Wait: wire.MaxDirectoryWait}, owner)
		}
		h.until(within, api.ServeTimeout, func() bool {
			now, _ := h.ownerElsewhere(name)
			return now.Incarnation != owner.Incarnation
		})
		cancel()
	})
	defer slow.Stop()
	err := h.caller.CallWithin(within, api.ServeTimeout, owner.API, owner.Incarnation, path, relayed, out)
	if errors.Is(err, wire.ErrNotAddressed) { // another start or grid has the address by now
		return failure.Errorf(roster.ErrWrongOwner, "sequencer %q: this member is not the owner, and %s takes no calls of "+
			"other members for it: %w", name, owner.Incarnation, err)
	}
	return err
}

// RelayCreate serves a create-and-attach request relayed by another member. It checks the original
// caller's permissions and pace again.
func (h *Host) RelayCreate(ctx context.Context, in wire.RelayCreateRequest) (wire.SequencerResponse, error) {
	if in.Caller != nil {
		if err := in.Caller.Check(); err != nil {
			return wire.SequencerResponse{}, err
		}
		ctx = api.OnBehalf(ctx, *in.Caller)
	}
	name, actions := in.Create.Name, []security.Action{security.Create, security.Attach}
	if in.Create.Attach == nil {
		actions = actions[:1]
	}
	for _, action := range actions {
		if err := api.Authorize(ctx, h.cfg.Audit, action, name); err != nil {
			return wire.SequencerResponse{}, err
		}
	}
	if err := h.Charge(ctx, security.Create, name); err != nil {
		return wire.SequencerResponse{}, err
	}
	return h.createAndAttach(ctx, in.Create)
}

// createAndAttach creates a sequencer and then attaches to it if requested, as two requests would.
// Nothing is created if the attach is malformed. An attach that is refused is in the answer: the
// sequencer exists.
func (h *Host) createAndAttach(ctx context.Context, in wire.CreateRequest) (wire.SequencerResponse, error) {
	if in.Attach == nil {
		return h.createHere(ctx, in)
	}
	if err := h.checkAttach(in.Attach.Request(wire.SequencerResponse{})); err != nil {
		return wire.SequencerResponse{}, err
	}
	res, err := h.createHere(ctx, in)
	if err != nil {
		return res, err
	}
	a, err := h.Attach(ctx, in.Attach.Request(res))
	if err != nil {
		res.Attached = &wire.Attached{Error: wire.ErrorOf(err, h.state.Roster().Version)}
		return res, nil
	}
	res.Stamp, res.Attached = a.Stamp, &wire.Attached{Node: a.Node, Grant: a.Grant}
	return res, nil
}
