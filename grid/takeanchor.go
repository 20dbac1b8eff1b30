package grid

import (
	"context"
	"fmt"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/leader"
	"github.com/snowgrid/snowgrid/sequencer"
	"github.com/snowgrid/snowgrid/wire"
)

// serveTake takes the record of the anchor as a person says, or has the leader do it. It is
// safe whoever holds it: grants of this grid begin above the limit that is found (A7).
func (o *leadership) serveTake(ctx context.Context, in wire.TakeRequest) (wire.MemberResponse, error) {
	var none wire.MemberResponse
	if !in.Forwarded {
		in.AskedBy = api.RemoteOf(ctx)
	}
	node := o.raft.Node()
	switch {
	case node == nil:
		return none, failure.Errorf(sequencer.ErrUnavailable, "%w", o.formation.NotFormed())
	case node.Leads():
		if err := o.atLead(ctx, func(machine *leader.Leader, v leader.View, reply func(error)) { machine.TakeAnchor(v, reply) }); err != nil {
			return none, err
		}
		o.log.Warn("anchor is taken as an operator says", "asked_by", fmt.Sprintf("%.100s", in.AskedBy), "call_from", api.RemoteOf(ctx))
		return wire.MemberResponse{Version: o.state.Roster().Version}, nil
	case in.Forwarded:
		return none, refusal.ErrNotLeader
	}
	in.Forwarded = true
	var res wire.MemberResponse
	err := o.forward(ctx, node.Leader(), wire.PathTake, in, &res)
	return res, err
}
