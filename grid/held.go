package grid

import (
	"context"

	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// reportTo sends a report to the leader, which may be this member.
func (o *leadership) reportTo(ctx context.Context, req wire.HeldRequest) error {
	if o.raft.Node().Leads() {
		_, err := o.serveHeld(ctx, req)
		return err
	}
	return o.formation.AtLeader(ctx, wire.PathHeld, req)
}

// serveHeld makes the leader record an owner's report, and wakes its step.
func (o *leadership) serveHeld(ctx context.Context, in wire.HeldRequest) (wire.MemberResponse, error) {
	err := o.atLead(ctx, func(machine *leader.Leader, v leader.View, reply func(error)) {
		due, err := machine.Reported(v, leader.Report{Owner: in.Owner, Held: in.Held, Persisted: in.Persisted,
			Unreached: in.Unreached})
		if due {
			o.now.Send()
		}
		reply(err)
	})
	if err != nil {
		return wire.MemberResponse{}, err
	}
	return wire.MemberResponse{Version: o.state.Roster().Version}, nil
}
