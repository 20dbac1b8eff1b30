package grid

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// An operator gives up a disk that never comes back (D10). The leader carries it out, at any
// member's request, and only for a member that does not run: while it runs, its disk can be read.

// serveForget gives up a member's disk, or has the leader do it.
func (o *leadership) serveForget(ctx context.Context, in wire.ForgetRequest) (wire.ForgetResponse, error) {
	var none wire.ForgetResponse
	if err := checkMemberID(in.Member); err != nil {
		return none, err
	}
	if o.lone {
		return none, failure.Errorf(wire.ErrNotNeeded, "grid: this member runs alone and stores nothing on disk")
	}
	return serveOperator(ctx, o, wire.PathForget, &in, func() (wire.ForgetResponse, error) { return o.forget(ctx, in) })
}

// forget gives up a member's disk, at the leader.
func (o *leadership) forget(ctx context.Context, in wire.ForgetRequest) (wire.ForgetResponse, error) {
	var out leader.Forgotten
	err := o.atLead(ctx, func(machine *leader.Leader, v leader.View, reply func(error)) {
		machine.ForgetDisk(v, leader.ForgetRequest{Disk: in.Member, LoseDefinitions: in.LoseDefinitions},
			func(done leader.Forgotten, err error) {
				out = done
				reply(err)
			})
	})
	o.audit.Write(audit.Entry{Action: audit.Forget, Name: string(in.Member), Who: in.AskedBy, Err: err},
		slog.Bool("lose_definitions", in.LoseDefinitions))
	if err != nil {
		return wire.ForgetResponse{}, err
	}
	o.log.Warn("disk forgotten", "forgotten", string(in.Member), "partitions", out.Partitions,
		"partitions_without_other_disk", out.Lost,
		"asked_by", fmt.Sprintf("%.100s", in.AskedBy), "call_from", api.RemoteOf(ctx))
	return wire.ForgetResponse{Partitions: out.Partitions, Lost: out.Lost, Version: o.state.Roster().Version}, nil
}
