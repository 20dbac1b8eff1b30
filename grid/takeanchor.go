package grid

import (
	"context"
	"fmt"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// serveTake takes the record of the anchor on a person's request, or has the leader do it. It is
// safe with any present holder: grants of this grid begin above the limit that is found (A7).
func (o *leadership) serveTake(ctx context.Context, in wire.TakeRequest) (wire.MemberResponse, error) {
	return serveOperator(ctx, o, wire.PathTake, &in, func() (wire.MemberResponse, error) {
		err := o.atLead(ctx, func(machine *leader.Leader, v leader.View, reply func(error)) { machine.TakeAnchor(v, reply) })
		o.audit.Write(audit.Entry{Action: audit.TakeAnchor, Name: o.state.Roster().Settings.Name, Who: in.AskedBy, Err: err})
		if err != nil {
			return wire.MemberResponse{}, err
		}
		o.log.Warn("anchor taken by operator", "asked_by", fmt.Sprintf("%.100s", in.AskedBy), "call_from", api.RemoteOf(ctx))
		return wire.MemberResponse{Version: o.state.Roster().Version}, nil
	})
}
