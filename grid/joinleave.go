package grid

import (
	"context"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// serveJoin admits a member, or returns the reason why not.
func (o *leadership) serveJoin(ctx context.Context, in wire.JoinRequest) (wire.MemberResponse, error) {
	res, err := o.join(ctx, in)
	if err != nil { // an admission is written when it is agreed
		o.audit.Write(audit.Entry{Action: audit.Join, Name: string(in.Member.Incarnation), Who: api.WhoOf(ctx), Err: err})
	}
	return res, err
}

// join records a member's request to join, once the member has confirmed it itself. The leader's
// next step admits it; the member repeats the request until it is in the roster.
func (o *leadership) join(ctx context.Context, in wire.JoinRequest) (wire.MemberResponse, error) {
	if err := in.Member.Check(); err != nil {
		return wire.MemberResponse{}, failure.Errorf(wire.ErrBadRequest, "grid: %s", err.Error())
	}
	if want := raftlog.ServerID(in.Member.Incarnation, in.Member.Durable); raft.ServerID(in.Server) != want {
		return wire.MemberResponse{}, failure.Errorf(wire.ErrBadRequest, "grid: server %.80q does not belong to member %s",
			in.Server, in.Member.Incarnation)
	}
	err := o.atLead(ctx, func(machine *leader.Leader, v leader.View, reply func(error)) {
		machine.Join(v, in.Member, reply)
	})
	if err == nil {
		o.gossip.Learn(in.Member.Incarnation, in.Name)
		o.now.Send()
	}
	return o.versionUnless(err)
}

// versionUnless returns a leader's answer to a member: the roster's version, or an error.
func (o *leadership) versionUnless(err error) (wire.MemberResponse, error) {
	if err != nil {
		return wire.MemberResponse{}, err
	}
	return wire.MemberResponse{Version: o.state.Roster().Version}, nil
}

// serveLeave removes a member and replies when that is agreed. The member has to stay until it is
// no longer a Raft server: its vote may be needed for that. A replaced leader may lack a member
// that joined since, so it has to confirm its leadership.
func (o *leadership) serveLeave(ctx context.Context, in wire.LeaveRequest) (wire.MemberResponse, error) {
	if err := in.Incarnation.Check(); err != nil {
		return wire.MemberResponse{}, failure.Errorf(wire.ErrBadRequest, "grid: %s", err.Error())
	}
	err := o.atLead(ctx, func(machine *leader.Leader, v leader.View, reply func(error)) {
		machine.Leave(v, in.Incarnation, in.Failed, reply)
	})
	if err != nil {
		o.audit.Write(audit.Entry{Action: audit.Leave, Name: o.gossip.Describe(in.Incarnation),
			Who: api.WhoOf(ctx), Err: err})
	} else {
		o.removals.ask(in.Incarnation, audit.Leave, api.WhoOf(ctx))
	}
	for {
		if err != nil {
			return wire.MemberResponse{}, err
		}
		departed := false
		err = o.atLead(ctx, func(machine *leader.Leader, v leader.View, reply func(error)) {
			departed = machine.Departed(v, in.Incarnation, leader.ServerID(in.Server))
			reply(nil)
		})
		if departed {
			return o.versionUnless(o.confirm())
		}
		if !signal.Sleep(ctx, leaveEvery) {
			return wire.MemberResponse{}, failure.Errorf(sequencer.ErrUnavailable,
				"grid: the leave is not committed yet: %w", ctx.Err())
		}
	}
}
