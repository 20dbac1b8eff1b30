package grid

import (
	"context"
	"errors"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/leader"
	"github.com/snowgrid/snowgrid/sequencer"
	"github.com/snowgrid/snowgrid/wire"
)

// atLead has the machine take a request, if this member leads, and returns its answer.
func (o *leadership) atLead(ctx context.Context, request func(machine *leader.Leader, v leader.View, reply func(error))) error {
	l, answer := o.current.Load(), make(chan error, 1)
	if l == nil || !l.node.Leads() {
		return refusal.ErrNotLeader
	}
	if !l.do(func(machine *leader.Leader, v leader.View) { request(machine, v, func(err error) { answer <- err }) }) {
		return refusal.ErrNotLeader
	}
	select {
	case err := <-answer:
		return refusalOf(err)
	case <-ctx.Done():
		return failure.Errorf(sequencer.ErrUnavailable, "grid: the leader has not answered yet: %w", ctx.Err())
	}
}

// confirm returns nil if this member led the grid after it was called.
func (o *leadership) confirm() error {
	if l := o.current.Load(); l != nil {
		return l.node.Confirm()
	}
	return refusal.ErrNotLeader
}

// forward passes an operator's request on to the leader, by its Raft server ID.
func (o *leadership) forward(ctx context.Context, leader, path string, in, out any) error {
	at, found := o.formation.AddressOf(leader)
	if !found {
		return failure.Errorf(sequencer.ErrUnavailable, "grid: this member knows no leader; %s", o.gossip.Seen())
	}
	return o.caller.CallWithin(ctx, api.ServeTimeout, at.API, at.Incarnation, path, in, out)
}

// refusals are the errors of the machine and those of the API.
var refusals = []struct{ machine, api error }{
	{leader.ErrBadRequest, wire.ErrBadRequest}, {leader.ErrNotNow, wire.ErrNotNow}, {leader.ErrNotNeeded, wire.ErrNotNeeded},
	{leader.ErrNotConfirmed, wire.ErrNotConfirmed}, {leader.ErrIdentityInUse, wire.ErrIdentityInUse}, {leader.ErrNotLeading, refusal.ErrNotLeader},
}

// refusalOf returns the error of the API for one of the machine.
func refusalOf(err error) error {
	for _, r := range refusals {
		if errors.Is(err, r.machine) {
			return failure.Errorf(r.api, "%w", err)
		}
	}
	if err != nil {
		return failure.Errorf(sequencer.ErrUnavailable, "%w", err)
	}
	return nil
}
